import Foundation
import Glibc
import VirgaAuth
import VirgaCloudKit
import VirgaCommandLine
import VirgaHTTP
import VirgaModel
import VirgaServer
import VirgaServerSQLite
import VirgaWire

/// Reaches a server's data as its operator: through the server that uses the data folder or, when none does, in the
/// folder itself, by the same calls.
struct OperatorAccess: Sendable {
  private enum Way: Sendable {
    case server(OperatorClient)
    case folder(Gateway, Storage)
  }

  static let dataOption = CommandSpec.Option(
    name: "--data", value: "DIR",
    help:
      "The server's data folder. If a server uses it, the command asks that server; else it opens the folder itself.\n"
      + "Default: $VIRGA_DATA, unless --endpoint is given.", variable: "VIRGA_DATA")
  /// The same for commands that need the folder itself.
  static let folderOption = CommandSpec.Option(
    name: "--data", value: "DIR", help: "The server's data folder. Default: $VIRGA_DATA, then ./virga-data.",
    variable: "VIRGA_DATA")
  static let options = [dataOption] + OperatorClient.options
  static let notes = """
    On the server's machine, --data is enough. Without --data, virga finds a server at --endpoint that the same user runs. For
    any other server, put the operator's token into $VIRGA_OPERATOR_TOKEN.

    Exit codes: 0 done · 1 refused or not found · 64 wrong arguments · 65 damaged data · 66 file cannot be read ·
    69 server not reached · 73 folder cannot be used · 74 the disk is full · 76 data of a newer version ·
    77 not the operator · 78 the home's files cannot be used
    """

  private let way: Way

  init(_ arguments: Arguments) async throws {
    guard let path = Self.folder(arguments) else {
      way = .server(try OperatorClient(arguments))
      return
    }
    try Self.checkFolder(path)
    // Opened as a server's, it would be changed.
    try BackupMark.refuse(path)
    do {
      self = try OperatorAccess(folder: path)
    } catch let failure as Failure where failure.code == .inUse {
      way = .server(try await OperatorClient(arguments, serverOf: path))
    }
  }

  /// The data folder that is meant. Whoever names a server means that one, whatever stands in the environment.
  static func folder(_ arguments: Arguments) -> String? {
    arguments.has("--endpoint") && !arguments.has("--data") ? nil : arguments.value("--data")
  }

  /// - Throws: If there is no store in the folder: a wrong path must not make an empty one.
  static func checkFolder(_ path: String) throws(Failure) {
    TemporaryFiles.use(path)
    guard try isThere("\(path)/\(DataFile.database)") else {
      throw Failure(.unwritable, "\(path) has no server's data")
    }
    var status = stat()
    guard stat("\(path)/\(DataFile.database)", &status) != 0 || status.st_size > 0 else {
      throw Failure(.damaged, "\(path)/\(DataFile.database) is empty: put it back from a backup")
    }
  }

  /// Whether a file is there.
  /// - Throws: If that cannot be found out, or the file cannot be read: that is not the same as no file.
  static func isThere(_ path: String) throws(Failure) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if descriptor >= 0 {
      Glibc.close(descriptor)
      return true
    }
    let code = errno
    if code == ENOENT || code == ENOTDIR { return false }
    throw Failure(.unwritable, "\(path) cannot be read: \(String(cString: strerror(code)))")
  }

  /// Opens a folder that no server uses.
  init(folder path: String) throws {
    let storage = try Storage(.folder(path))
    do throws(AssetFolderError) { way = .folder(try Self.front(storage), storage) } catch {
      storage.close()
      throw Failure(.unwritable, error.description)
    }
  }

  private static func front(_ storage: Storage) throws(AssetFolderError) -> Gateway {
    var configuration = GatewayConfiguration(
      folder: storage.folder, policy: .closed,
      now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) })
    configuration.log = { Terminal.complain("virga: \($0)") }
    return try Gateway(store: storage.store, secrets: storage.secrets, configuration: configuration)
  }

  /// Sends the file of an asset to the URL that the server gave for it. Devices find the server there; whoever runs it may
  /// not, and asks it where it answered before.
  func upload(_ path: String, to url: String) async throws -> [UInt8] {
    guard let place = url.range(of: "/assets/1/") else {
      throw Failure(.unavailable, "\(url) is not an address for an asset")
    }
    let target = String(url[place.lowerBound...])
    let answer: (status: Int, body: [UInt8])
    switch way {
    case .server(let client): answer = try await client.upload(path, to: target)
    case .folder(let front, _): answer = try await Self.upload(path, to: target, front)
    }
    guard answer.status == 200 else { throw Failure(.failed, "an asset was refused: HTTP status \(answer.status)") }
    return answer.body
  }

  private static func upload(
    _ path: String, to target: String, _ front: Gateway
  ) async throws -> (status: Int, body: [UInt8]) {
    let head = HTTPRequestHead(method: "POST", target: target)
    let response: HTTPResponse
    switch front.bodyPlan(for: head) {
    case .refuse(let refusal): response = refusal
    case .buffer, .bufferOnceAdmitted: throw Failure(.internalError, "\(target) does not accept files")
    case .stream(let directory, _, _):
      // The server moves what it is given.
      let copy = "\(directory)/upload-\(UUID().uuidString)"
      do { try FileManager.default.copyItem(atPath: path, toPath: copy) } catch {
        throw Failure(.unwritable, "\(path) cannot be copied to \(directory)")
      }
      let size = (try FileManager.default.attributesOfItem(atPath: copy)[.size] as? NSNumber)?.int64Value ?? 0
      response = await front.respond(
        to: HTTPRequest(head: head, body: .file(StreamedBody(path: copy, size: size))))
    }
    guard case .bytes(let body) = response.body else { return (response.status, []) }
    return (response.status, body)
  }

  /// Gives the folder back.
  func close() {
    if case .folder(_, let storage) = way { storage.close() }
  }

  /// Sends a request below `/virga/1/` and gives the body of its answer.
  func send(
    _ method: String, _ path: String, query: [(name: String, value: String)], body: [UInt8] = []
  ) async throws -> [UInt8] {
    switch way {
    case .server(let client): return try await client.send(method, path, query: query, body: body)
    case .folder(let front, let storage):
      let parameters = query.map { "\($0.name)=\($0.value.percentEncodedPathSegment)" }.joined(separator: "&")
      let head = HTTPRequestHead(
        method: method, target: "/virga/1/\(path)?\(parameters)",
        headers: HTTPHeaders([("X-Virga-Operator", storage.secrets.operatorToken)]))
      let answer = await front.exchange(HTTPRequest(head: head, body: .bytes(body)))
      guard case .bytes(let bytes) = answer.body, answer.status == 200 else {
        var text: [UInt8] = []
        if case .bytes(let bytes) = answer.body { text = bytes }
        throw Failure(.failed, ServiceError(decoding: text, status: answer.status).reason)
      }
      return bytes
    }
  }
}

/// Which database of whom a command is about.
struct DatabaseChoice {
  /// The container of a command that needs one.
  static let container = CommandSpec.Option(
    name: "--container", value: "ID", help: "The container. Default: $VIRGA_CONTAINER.", variable: "VIRGA_CONTAINER")

  static let options = [
    container,
    CommandSpec.Option(
      name: "--environment", value: "NAME", help: "development or production. Default: development.",
      values: .words(["development", "production"])),
    CommandSpec.Option(
      name: "--database", value: "NAME", help: "private or public. Default: private.",
      values: .words(["private", "public"])),
    CommandSpec.Option(name: "--user", value: "USER", help: "The user: a record name (_…) or the name of an account."),
  ]

  let query: [(name: String, value: String)]
  let isPublic: Bool

  init(_ arguments: Arguments) throws(Failure) {
    guard let container = try arguments.container() else {
      throw .usage(arguments.spec.name, "--container is missing")
    }
    let environment: VirgaModel.Environment? = try arguments.choice("--environment")
    let database = arguments.value("--database") ?? "private"
    guard ["private", "public"].contains(database) else {
      throw .usage(arguments.spec.name, "--database must be private or public, not \(database)")
    }
    isPublic = database == "public"
    let user = arguments.value("--user")
    guard user != nil || database == "public" else { throw .usage(arguments.spec.name, "--user is missing") }
    query =
      [
        (name: "container", value: container), (name: "environment", value: (environment ?? .development).rawValue),
        (name: "database", value: database),
      ] + (user.map { [(name: "user", value: $0), (name: "userMustExist", value: "true")] } ?? [])
  }
}
