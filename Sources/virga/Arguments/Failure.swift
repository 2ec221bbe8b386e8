import VirgaAccounts
import VirgaAuth

/// Why the program ends without having done what it was asked: one line on standard error, and an exit code that scripts
/// can tell apart. The codes are those of sysexits.h where that has one that fits.
struct Failure: Error, Hashable, CustomStringConvertible {
  enum Code: Int32 {
    /// What was asked did not work out: a wrong code, a refusal.
    case failed = 1
    case usage = 64
    case damaged = 65
    case unreadable = 66
    case badHost = 68
    case unavailable = 69
    case internalError = 70
    case unwritable = 73
    case full = 74
    case inUse = 75
    case newerVersion = 76
    case noPermission = 77
    case badConfiguration = 78
  }

  var code: Code
  var message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  var description: String { message }

  /// - Throws: If the address of a server is none.
  static func check(endpoint: String) throws(Failure) {
    let lowered = endpoint.lowercased()
    guard ["http://", "https://"].contains(where: { lowered.hasPrefix($0) && lowered.count > $0.count }) else {
      throw Failure(.usage, "the server's address must begin with http:// or https://, but is \(endpoint)")
    }
  }

  /// The address of the server that a device asks.
  /// - Throws: If it is none, with the name of the file if it comes from there.
  static func endpoint(of home: VirgaHome, environment: [String: String]) throws -> String {
    let endpoint = try home.endpoint(environment: environment)
    let file = home.path + "/config.json"
    for key in try home.unknownSettings() {
      Terminal.complain("virga: \(file) has an unknown setting: \(key)")
    }
    do throws(Failure) { try check(endpoint: endpoint) } catch {
      let isGiven = environment["VIRGA_ENDPOINT"]?.isEmpty == false
      throw isGiven ? error : Failure(.badConfiguration, "\(file): \(error.message)")
    }
    return endpoint
  }

  static func usage(_ command: String, _ message: String) -> Failure {
    Failure(.usage, "\(message) (see \(command) --help)")
  }
}
