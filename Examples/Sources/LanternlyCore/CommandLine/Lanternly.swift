import Foundation
import Glibc
import VirgaCommandLine
import VirgaSQLite

/// The program: reads a command line, does what it says and tells how it went.
package struct Lanternly {
  package static let version = "0.1.0"
  /// The day of that version, for manual pages.
  static let releaseDate = "2026-12-01"

  let arguments: Arguments
  let surroundings: Surroundings
  let texts: Texts
  let home: DiaryHome
  let store: DiaryStore
  /// A folder that was named is a device of its own; the default one shares the machine's account.
  let isHomeNamed: Bool

  var output: Output { surroundings.output }
  var presentation: Presentation { Presentation(texts: texts, screen: surroundings.screen) }
  var wantsJSON: Bool { arguments.has("json") }
  var now: Moment { surroundings.now() }

  /// Runs one command.
  /// - Returns: The process's exit code.
  package static func run(_ words: [String], _ surroundings: Surroundings) async -> Int32 {
    let texts = Texts.of(languageCode: surroundings.languageCode)
    let code = await perform(words, surroundings, texts)
    guard surroundings.output.hasFailed() else { return code }
    // What was done is on the other output by now.
    let isDone = code == ExitCode.done.rawValue && (try? Arguments(words))?.changesDiary == true
    surroundings.output.problem(texts(isDone ? .onlyOutputFailed : .outputFailed))
    return code == ExitCode.done.rawValue ? ExitCode.failure.rawValue : code
  }

  private static func perform(_ words: [String], _ surroundings: Surroundings, _ texts: Texts) async -> Int32 {
    let arguments: Arguments
    do {
      arguments = try Arguments(words)
    } catch {
      surroundings.output.problem(explain(error, texts))
      return ExitCode.usage.rawValue
    }
    var texts = texts
    if let home = arguments.value("home") { texts.program = "lanternly --home \(home.asShellWord)" }
    do {
      if let text = try help(arguments, texts) {
        surroundings.output.line(text)
        return ExitCode.done.rawValue
      }
      if let code = try writeSupport(arguments, texts, surroundings.output) { return code.rawValue }
      let program = try Lanternly(arguments, surroundings, texts)
      return try await program.perform().rawValue
    } catch {
      let (code, text) = describe(error, texts, arguments, surroundings)
      surroundings.output.problem(text)
      return code.rawValue
    }
  }

  private init(_ arguments: Arguments, _ surroundings: Surroundings, _ texts: Texts) throws {
    self.arguments = arguments
    self.surroundings = surroundings
    self.texts = texts
    let (path, isNamed) = Self.homePath(arguments, surroundings)
    isHomeNamed = isNamed
    let (isMade, isOnlyRead) = (arguments.makesDiary, arguments.onlyReads)
    home = try DiaryHome(path: path, isMade: isMade)
    guard isMade || home.hasDiary else { throw CommandFailure(.notFound, .noDiary, home.path) }
    store = try DiaryStore(home: home, isOnlyRead: isOnlyRead)
  }

  private static func homePath(_ arguments: Arguments, _ surroundings: Surroundings) -> (path: String, isNamed: Bool) {
    let environment = surroundings.environment
    let given = arguments.value("home") ?? environment["LANTERNLY_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    return (given ?? userFolder(environment) + "/.lanternly", given != nil)
  }

  /// `$HOME`; where that is not set, as in some services, what the password database says.
  private static func userFolder(_ environment: [String: String]) -> String {
    if let home = environment["HOME"], !home.isEmpty { return home }
    guard let entry = getpwuid(getuid()), let folder = entry.pointee.pw_dir else { return "." }
    return String(cString: folder)
  }

  private func perform() async throws -> ExitCode {
    let drafts = arguments.tellsOfDrafts ? try draftPaths() : []
    if arguments.writes { try store.sweepTemporary(at: now) }
    let code = try await performCommand()
    if arguments.tellsOfDrafts { try tellOfDrafts(among: drafts) }
    return code
  }

  private func performCommand() async throws -> ExitCode {
    switch arguments.command {
    case "new": try new()
    case "edit": try edit()
    case "list": try list()
    case "show": try show()
    case "search": try search()
    case "delete": try delete()
    case "import": try importExport()
    case "export": try export()
    case "open": try open()
    case "sync": try await sync()
    case "watch": try await watch()
    case "status": try status()
    case "invite": try await invite()
    case "join": try await join()
    case "devices": try await devices()
    case "device": try await device()
    case "conflicts": try conflicts()
    case let command: preconditionFailure("a command without a function: \(command)")
    }
  }

  // MARK: Words for what went wrong

  /// - Parameter command: Whose help is named where the error does not know it.
  static func explain(_ error: UsageError, _ texts: Texts, command: String = "") -> String {
    let (text, topic): (String, String) =
      switch error {
      case .noCommand: (texts(.usageNoCommand), "")
      case .unknownCommand(let name): (texts(.usageUnknownCommand, name), "")
      case .unknownOption(let option, let command):
        (texts(.usageUnknownOption, option, command.isEmpty ? "lanternly" : command), command)
      case .valueIsMissing(let option, let command): (texts(.usageValueMissing, option), command)
      case .valueIsUnwanted(let option, let command): (texts(.usageValueUnwanted, option), command)
      case .optionsExclude(let one, let other, let command): (texts(.usageExclusive, one, other), command)
      case .optionIsRepeated(let option, let command): (texts(.usageRepeated, option), command)
      case .wordIsMissing(let command): (texts(.usageWordMissing, command), String(command.prefix { $0 != " " }))
      case .tooManyWords(let word, let command): (texts(.usageTooManyWords, word, command), command)
      case .valueIsWrong(let option, let value): (texts(.usageValueWrong, option, value), command)
      }
    return text + " " + texts(.usageSeeHelp, topic).trimmingCharacters(in: .whitespaces)
  }

  private static func describe(
    _ error: any Error, _ texts: Texts, _ arguments: Arguments, _ surroundings: Surroundings
  ) -> (ExitCode, String) {
    let path = homePath(arguments, surroundings).path
    let database = path + "/diary.sqlite"
    return switch error {
    case let draft as DraftKept: describe(draft, texts, arguments, surroundings)
    case let failure as CommandFailure: (failure.code, texts.filled(failure.text, failure.values))
    case let usage as UsageError: (.usage, explain(usage, texts, command: arguments.command))
    case ImportError.file(let error): describe(error, texts, arguments, surroundings)
    case let error as ImportError: describe(error, texts)
    case let error as CocoaError where error.code == .fileWriteOutOfSpace: (.failure, texts(.diskIsFull, path))
    case let error as FileError where error.isDiskFull: (.failure, texts(.diskIsFull, path))
    case let error as FileError where error.errorNumber == EROFS: (.failure, texts(.homeIsReadOnly, path))
    case let error as FileError: (.failure, texts(.fileFailed, error.path, error.reason))
    case let error as SQLiteError where isFull(error, path): (.failure, texts(.diskIsFull, path))
    case let error as SQLiteError where isReadOnly(error, path):
      (.failure, texts(arguments.onlyReads ? .diaryIsUnfinished : .homeIsReadOnly, path))
    case MigrationError.newerVersion: (.failure, texts(.diaryIsNewer, database))
    case MigrationError.foreign: (.failure, texts(.diaryIsForeign, database))
    case let error as SQLiteError where error.condition == .notADatabase || error.condition == .corrupt:
      (.failure, texts(.diaryIsDamaged, database, error.message))
    case let error as SQLiteError: (.failure, texts(.diaryFailed, database, error.message))
    default: (.failure, texts(.unexpected, plainText(of: error)))
    }
  }

  private static func isFull(_ error: SQLiteError, _ path: String) -> Bool {
    if error.condition == .full { return true }
    let isPossible = error.condition == .ioFailed || error.condition == .cannotOpen
    return isPossible && (try? DiaryHome(path: path, isMade: false))?.isDiskFull == true
  }

  private static func isReadOnly(_ error: SQLiteError, _ path: String) -> Bool {
    guard error.condition == .readOnly || error.condition == .cannotOpen else { return false }
    return (try? DiaryHome(path: path, isMade: false))?.isReadOnly == true
  }

  private static func describe(
    _ draft: DraftKept, _ texts: Texts, _ arguments: Arguments, _ surroundings: Surroundings
  ) -> (ExitCode, String) {
    let (code, text) = describe(draft.cause, texts, arguments, surroundings)
    return (code, text + " " + texts(.draftIsKept, draft.path))
  }

  private static func describe(_ error: ImportError, _ texts: Texts) -> (ExitCode, String) {
    switch error {
    case .notFound(let path): (.notFound, texts(.importNotFound, path))
    case .unreadable(let error): (.notFound, texts(.fileIsUnreadable, error.path, error.reason))
    case .brokenJSON(let file, let line, let column):
      (.badInput, texts(.importBrokenJSON, file, String(line), String(column)))
    case .notAnExport(let path): (.badInput, texts(.importNotAnExport, path))
    case .brokenArchive(let file, let reason): (.badInput, texts(.importBrokenArchive, file, reason))
    case .unsafeArchive(let file, let name): (.badInput, texts(.importUnsafeArchive, file, name))
    case .repeatedName(let file, let name): (.badInput, texts(.importRepeatedName, file, name))
    case .tooLarge(let file): (.badInput, texts(.importTooLarge, file))
    case .file(let error): (.failure, texts(.fileFailed, error.path, error.reason))
    }
  }

  /// The entry that a word on the command line names.
  func entry(_ word: String, includingDeleted: Bool = false) throws -> StoredEntry {
    switch try store.find(word, includingDeleted: includingDeleted) {
    case .none: throw CommandFailure(.notFound, .entryNotFound, word)
    case .several(let names):
      let shown = try names.prefix(5).map { try store.shortName($0.name) }.joined(separator: " ")
      throw CommandFailure(.notFound, .entryIsAmbiguous, word, shown)
    case .one(let id):
      guard let stored = try store.stored(id) else { throw CommandFailure(.notFound, .entryNotFound, word) }
      return stored
    }
  }

  /// The beginning of an entry's name that names it alone.
  func short(_ id: EntryID) -> String { short(id.name) }

  /// Of a record that may be an entry's.
  func short(_ name: String) -> String { (try? store.shortName(name)) ?? Presentation.short(name) }
}
