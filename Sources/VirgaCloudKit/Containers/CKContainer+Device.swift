public import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaModel

extension CKContainer {
  /// A device: a folder with its keys and its cache, and its way to a server. An addition of ours.
  ///
  /// A program is one device, whose folder is `VIRGA_HOME`. A test that needs two makes them, and gives each a container:
  ///
  ///     let phone = try CKContainer.Device(home: folder.appendingPathComponent("phone"))
  ///     let laptop = try CKContainer.Device(home: folder.appendingPathComponent("laptop"))
  ///     try await phone.letIn(laptop)
  ///     let database = CKContainer(identifier: "iCloud.com.example.App", on: laptop).privateCloudDatabase
  ///
  /// Devices share nothing but the server: each has its own account until another lets it in, and hears of what the others
  /// change as devices do. Two values for one folder are two programs on one device.
  public final class Device: Sendable {
    package let service: RemoteService

    /// - Parameter home: The device's folder, what `VIRGA_HOME` is for a program; made if it is not there.
    /// - Parameter name: What other devices of the account see; the folder's name if left out.
    /// - Parameter endpoint: The server's address; where a program with that home would find it if left out.
    /// - Throws: `CKError` if the folder cannot be made, or its settings cannot be read.
    public convenience init(home: URL, name: String? = nil, endpoint: String? = nil) throws {
      var variables = ProcessInfo.processInfo.environment
      variables["VIRGA_HOME"] = home.path
      if let endpoint { variables["VIRGA_ENDPOINT"] = endpoint }
      do {
        try FileManager.default.createDirectory(
          at: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      } catch {
        throw CKError(.internalError, "Cannot make the folder \(home.path): \(error.localizedDescription)")
      }
      do throws(SecureFileError) {
        let settings = try ServiceSettings(environment: variables, program: ServiceSettings.runningProgram)
        self.init(settings.makeService(deviceName: name ?? home.lastPathComponent))
      } catch {
        throw CKError(.internalError, "\(error)")
      }
    }

    /// A device whose way to the server, clock and name are those of the service: a simulator's, or a test's.
    package init(_ service: RemoteService) { self.service = service }

    /// Lets another device into this one's account, as `virga account invite` and `join` do between people.
    ///
    /// The other must be new: what one has saved in an account of its own stays there, and is not given up here.
    /// - Throws: `CKError` if either is refused, or the server cannot be reached.
    public func letIn(_ other: Device) async throws {
      let (mine, theirs) = (service.accounts, other.service.accounts)
      do {
        let code = try await mine.invite().code
        async let joined = theirs.join(code: code, replacing: false) { _ in }
        let candidate = try await mine.candidate(for: code)
        _ = try await mine.confirm(candidate, code: code, accepts: true)
        _ = try await joined
      } catch let error as AccountError {
        throw CKError(error)
      }
    }
  }

  /// The container as a device of this process sees it. An addition of ours.
  public convenience init(identifier containerIdentifier: String, on device: Device) {
    self.init(ContainerID(containerIdentifier), on: device.service)
  }
}
