import VirgaCommandLine

/// What the program's end tells a script.
package enum ExitCode: Int32, Sendable {
  case done = 0
  case failure = 1
  /// The command line was not understood.
  case usage = 2
  /// There is no such entry or file.
  case notFound = 3
  /// What was to be imported is broken or unsafe; nothing was changed.
  case badInput = 4
  /// The server could not be reached or did not take everything; what waits is kept.
  case notSynced = 5
  /// There is no account on this device.
  case noAccount = 6
  /// Another process syncs this diary.
  case busy = 7
}

/// A failure that the user is told in one line.
struct CommandFailure: Error, CustomStringConvertible {
  var code: ExitCode
  var text: Text
  var values: [String]

  init(_ code: ExitCode, _ text: Text, _ values: String...) {
    self.code = code
    self.text = text
    self.values = values
  }

  /// For those who write programs; users are told in their language.
  var description: String { Texts.english.filled(text, values) }
}

/// A failure after which what the user wrote in an editor is in its file still.
struct DraftKept: Error, CustomStringConvertible {
  var path: String
  var cause: any Error

  var description: String { "\(plainText(of: cause)); the text is in \(path)" }
}
