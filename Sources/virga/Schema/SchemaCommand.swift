import Foundation
import VirgaCommandLine
import VirgaModel
import VirgaSchema

/// `virga schema …`: the schemas of a container, for its operator and for CI.
enum SchemaCommand {
  private typealias Option = CommandSpec.Option

  private static let container = DatabaseChoice.container
  private static let file = Option(
    name: "--file", value: "FILE", help: "The schema's text (.ckdb); - is standard input.")
  private static let environment = Option(
    name: "--environment", value: "NAME", help: "development or production. Default: development.",
    values: .words(["development", "production"]))
  private static let json = Option(name: "--json", value: nil, help: "Print the report as JSON, on one line.")

  private static let exitCodes = """
    Only the operator may do this. virga finds the operator's token by itself if the server runs on this machine as the same
    user. Otherwise put it into $VIRGA_OPERATOR_TOKEN.

    Exit codes: 0 done, valid, the same · 1 refused, not valid, different · 64 wrong arguments · 65 not a text ·
    66 file cannot be read · 69 server not reached · 73 file cannot be written · 77 not the operator
    """

  private static func spec(_ name: String, _ summary: String, _ options: [Option]) -> CommandSpec {
    CommandSpec(
      name: "virga schema \(name)", summary: summary, options: options + OperatorClient.options, notes: exitCodes)
  }

  private static let export = spec(
    "export", "Prints a container's schema.",
    [container, environment, Option(name: "--file", value: "FILE", help: "Write it to this file.")])
  private static let importing = spec(
    "import",
    "Replaces development's schema with a file. What the file does not have is removed with its data.\n"
      + "A file that lacks or changes something of production is refused.",
    [container, file, .yes, json])
  private static let validate = spec(
    "validate",
    "Checks a file. With --container, also checks that production would lose no data.",
    [file, Option(name: "--container", value: "ID", help: "The container."), json])
  private static let diff = spec(
    "diff",
    "Shows differences: from production to development; with one --file, from an environment to the file;\n"
      + "with two, from the first file to the second, without a server.",
    [
      container, environment, Option(name: "--file", value: "FILE", help: "A schema's text.", isRepeatable: true), json,
    ])
  private static let deploy = spec(
    "deploy", "Deploys development's schema to production. A deploy can only add. Data are not copied.",
    [container, .yes, json])
  private static let reset = spec(
    "reset", "Makes development's schema equal to production's, and deletes all of development's data.",
    [container, .yes, json])

  static let commands = [
    Command(export, exportSchema), Command(importing, importSchema), Command(validate, validateSchema),
    Command(diff, compareSchemas), Command(deploy, deploySchema), Command(reset, resetSchema),
  ]

  // MARK: Commands

  private static func exportSchema(_ arguments: Arguments) async throws {
    let schemas = try ContainerSchemas(arguments)
    let text = try await schemas.export(try arguments.choice("--environment") ?? .development)
    if let schema = try? Schema(text), schema.completed() == Schema(roles: [], recordTypes: []).completed() {
      schemas.warnIfUnknown(try await schemas.report("GET", "diff"))
    }
    try SchemaFile(path: arguments.value("--file") ?? "-").write(text)
  }

  private static func validateSchema(_ arguments: Arguments) async throws {
    let file = try onlyFile(arguments)
    if !arguments.has("--container") { try refuse(server, "without --container the command asks no server", arguments) }
    let text = try file.text()
    var report = SchemaReport(changes: [], refusals: [])
    do throws(SchemaErrors) { _ = try Schema(text) } catch { report = SchemaReport(error) }
    if report.isValid, arguments.has("--container") {
      let schemas = try ContainerSchemas(arguments)
      report = try await schemas.report("POST", "validate", body: text)
      schemas.warnIfUnknown(report)
    }
    if arguments.has("--json") { try Terminal.print(json: report) }
    if !report.problems.isEmpty { throw Failure(.failed, SchemaFile.list(report.problems, of: file.path)) }
    try check(report, arguments, "the schema would lose what production has")
    if !arguments.has("--json") { Terminal.print("Schema is valid.") }
  }

  private static func importSchema(_ arguments: Arguments) async throws {
    let schemas = try ContainerSchemas(arguments)
    let file = try onlyFile(arguments)
    let text = try file.read().text
    let plan = try await schemas.report("POST", "validate", body: text)
    if !plan.isValid { try printReport(plan, arguments) }
    try check(plan, arguments, "the import was refused, because production would lose something")
    let losses = plan.changes.filter(\.losesData)
    if !losses.isEmpty, !arguments.has("--yes") {
      Terminal.complain("Development loses the data of these:")
      for change in losses { Terminal.complain(change.text) }
      try arguments.confirm("Import?", "nothing was imported")
    }
    let report = try await schemas.report("POST", "import", body: text)
    try printReport(report, arguments)
    try check(report, arguments, "the import was refused, because production would lose something")
    if !arguments.has("--json") {
      Terminal.print(report.changes.isEmpty ? "Development has this schema already." : "Imported into development.")
      if report.recordsChanged > 0 { Terminal.print("Records changed or deleted: \(report.recordsChanged)") }
    }
  }

  private static func compareSchemas(_ arguments: Arguments) async throws {
    switch arguments.values("--file").count {
    case 0: try refuse(["--environment"], "it compares both environments", arguments)
    case 2...:
      try refuse(["--container", "--environment"] + server, "it compares two files without a server", arguments)
    default: break
    }
    let files = try arguments.values("--file").map { try SchemaFile(path: $0).read() }
    let report: SchemaReport
    switch files.count {
    case 0:
      let schemas = try ContainerSchemas(arguments)
      report = try await schemas.report("GET", "diff")
      schemas.warnIfUnknown(report)
    case 1:
      let text = try await ContainerSchemas(arguments).export(try arguments.choice("--environment") ?? .development)
      let server: Schema
      do throws(SchemaErrors) { server = try Schema(text) } catch {
        throw Failure(.unavailable, "the server's schema cannot be read: \(error)")
      }
      report = SchemaReport(changes: server.changes(to: files[0]), refusals: [])
    case 2: report = SchemaReport(changes: files[0].changes(to: files[1]), refusals: [])
    default: throw Failure.usage(diff.name, "--file can be given twice, not more")
    }
    try printReport(report, arguments)
    if !report.changes.isEmpty { throw Failure(.failed, "the schemas differ") }
    if !arguments.has("--json") { Terminal.print("The schemas are the same.") }
  }

  private static func deploySchema(_ arguments: Arguments) async throws {
    let schemas = try ContainerSchemas(arguments)
    let refused = "the deploy was refused and production is unchanged: a deploy can only add"
    let plan = try await schemas.report("GET", "diff")
    try schemas.checkIsKnown(plan)
    if !plan.isValid || (!arguments.has("--yes") && !plan.changes.isEmpty) { try printReport(plan, arguments) }
    try check(plan, arguments, refused)
    if plan.changes.isEmpty {
      try arguments.has("--json") ? Terminal.print(json: plan) : Terminal.print("Production has this schema already.")
      return
    }
    try arguments.confirm("Deploy to production? Additions there are permanent.", "nothing was deployed")
    let report = try await schemas.report("POST", "deploy")
    if arguments.has("--yes") || !report.isValid { try printReport(report, arguments) }
    try check(report, arguments, refused)
    if !arguments.has("--json") { Terminal.print("Deployed to production.") }
  }

  private static func resetSchema(_ arguments: Arguments) async throws {
    let schemas = try ContainerSchemas(arguments)
    try schemas.checkIsKnown(try await schemas.report("GET", "diff"))
    try arguments.confirm(
      "Delete all of development's data of \(schemas.container) and replace its schema with production's?",
      "nothing was reset")
    let report = try await schemas.report("POST", "reset")
    try printReport(report, arguments)
    if !arguments.has("--json") {
      Terminal.print("Development was reset. Records deleted: \(report.recordsChanged)")
    }
  }

  // MARK: Reports

  private static func printReport(_ report: SchemaReport, _ arguments: Arguments) throws {
    if arguments.has("--json") { return try Terminal.print(json: report) }
    for change in report.changes { Terminal.print(change.text) }
  }

  /// - Throws: A failure that lists the refusals, if there are any.
  private static func check(_ report: SchemaReport, _ arguments: Arguments, _ what: String) throws(Failure) {
    if report.isValid { return }
    let reasons = report.refusals.map { "\n  \($0.subject): \($0.reason)" }.joined()
    throw Failure(.failed, what + reasons)
  }

  private static let server = OperatorClient.options.map(\.name)

  /// - Throws: If an option was given that would change nothing.
  private static func refuse(_ options: [String], _ reason: String, _ arguments: Arguments) throws(Failure) {
    if let option = options.first(where: arguments.has) {
      throw .usage(arguments.spec.name, "\(option) has no effect here: \(reason)")
    }
  }

  private static func onlyFile(_ arguments: Arguments) throws(Failure) -> SchemaFile {
    guard let path = arguments.value("--file") else { throw .usage(arguments.spec.name, "--file is missing") }
    return SchemaFile(path: path)
  }
}

/// The schemas of one container on a server.
struct ContainerSchemas {
  let container: ContainerID
  private let client: OperatorClient

  init(_ arguments: Arguments) throws {
    guard let name = arguments.value("--container") else {
      throw Failure.usage(arguments.spec.name, "--container is missing")
    }
    if let objection = NameRule.container.objection(to: name) {
      throw Failure.usage(arguments.spec.name, "--container \(objection)")
    }
    container = ContainerID(name)
    client = try OperatorClient(arguments)
  }

  /// - Throws: If the server has nothing of the container, so that its name is likely a wrong one.
  func checkIsKnown(_ report: SchemaReport) throws(Failure) {
    if report.isContainerKnown == false { throw Failure(.failed, Self.unknown(container)) }
  }

  /// Says so where it is no failure: a container may be new.
  func warnIfUnknown(_ report: SchemaReport) {
    if report.isContainerKnown == false { Terminal.complain("virga: \(Self.unknown(container))") }
  }

  static func unknown(_ container: ContainerID) -> String {
    "the server has nothing for container \(container); is the name right?"
  }

  func export(_ environment: VirgaModel.Environment) async throws -> String {
    let query = [(name: "container", value: container.rawValue), (name: "environment", value: environment.rawValue)]
    return String(decoding: try await client.send("GET", "schema/export", query: query), as: UTF8.self)
  }

  func report(_ method: String, _ call: String, body: String = "") async throws -> SchemaReport {
    let answer = try await client.send(
      method, "schema/\(call)", query: [(name: "container", value: container.rawValue)], body: Array(body.utf8))
    do { return try JSONDecoder().decode(SchemaReport.self, from: Data(answer)) } catch {
      throw Failure(.unavailable, "\(client.endpoint) sent an unexpected answer; is it a Virga server of this version?")
    }
  }
}
