import Foundation
import VirgaModel
import VirgaSchema

/// A schema's text in a file; `-` is standard input or output.
struct SchemaFile: Sendable {
  let path: String

  /// - Throws: A failure of the code 1 that lists all errors, in the form that editors jump to.
  func read() throws(Failure) -> Schema {
    let text = try text()
    do throws(SchemaErrors) { return try Schema(text) } catch {
      throw Failure(.failed, Self.list(SchemaReport(error).problems, of: path))
    }
  }

  func text() throws(Failure) -> String {
    let data: Data?
    do {
      data = try path == "-" ? FileHandle.standardInput.readToEnd() : Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw Failure(.unreadable, "cannot read \(path)")
    }
    let bytes = data ?? Data()
    guard bytes.count <= Limits.schemaTextBytesMax else {
      throw Failure(.damaged, "\(path) is larger than \(Limits.schemaTextBytesMax >> 20) MB")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(.damaged, "\(path) is not text in UTF-8")
    }
    return text
  }

  func write(_ text: String) throws(Failure) {
    if path == "-" { return Terminal.print(String(text.dropLast())) }
    do { try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
      throw Failure(.unwritable, "cannot write \(path)")
    }
  }

  /// `file:line:column: message`, one after the other.
  static func list(_ problems: [SchemaReport.Problem], of path: String) -> String {
    let name = path == "-" ? "standard input" : path
    let lines = problems.map { "\(name):\($0.line):\($0.column): \($0.message)" }
    return "Schema validation failed:\n" + lines.joined(separator: "\n")
  }
}
