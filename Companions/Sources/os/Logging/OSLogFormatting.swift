import Foundation

/// How a whole number of a message is written.
public struct OSLogIntegerFormatting: Sendable {
  private enum Radix { case decimal, hexadecimal, octal }

  private var radix = Radix.decimal
  private var explicitPositiveSign = false
  private var includesPrefix = false
  private var uppercase = false
  private var minimumDigits = 0

  public static var decimal: OSLogIntegerFormatting { OSLogIntegerFormatting() }
  public static var hex: OSLogIntegerFormatting { hex() }
  public static var octal: OSLogIntegerFormatting { octal() }

  public static func decimal(
    explicitPositiveSign: Bool = false, minDigits: @autoclosure () -> Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(explicitPositiveSign: explicitPositiveSign, minimumDigits: minDigits())
  }

  public static func hex(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false,
    minDigits: @autoclosure () -> Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      radix: .hexadecimal, explicitPositiveSign: explicitPositiveSign, includesPrefix: includePrefix,
      uppercase: uppercase, minimumDigits: minDigits())
  }

  public static func octal(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false,
    minDigits: @autoclosure () -> Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      radix: .octal, explicitPositiveSign: explicitPositiveSign, includesPrefix: includePrefix, uppercase: uppercase,
      minimumDigits: minDigits())
  }

  func text(_ value: some FixedWidthInteger) -> String {
    let base =
      switch radix {
      case .decimal: 10
      case .hexadecimal: 16
      case .octal: 8
      }
    var digits = String(value.magnitude, radix: base, uppercase: uppercase)
    digits = String(repeating: "0", count: max(0, minimumDigits - digits.count)) + digits
    let prefix = !includesPrefix ? "" : radix == .hexadecimal ? "0x" : radix == .octal ? "0o" : ""
    return (value < 0 ? "-" : explicitPositiveSign ? "+" : "") + prefix + digits
  }
}

/// How a fraction of a message is written.
public struct OSLogFloatFormatting: Sendable {
  /// The letter of `printf`.
  private var conversion: String
  private var precision: Int?
  private var explicitPositiveSign: Bool
  private var uppercase: Bool

  private init(_ conversion: String, _ precision: Int?, _ explicitPositiveSign: Bool, _ uppercase: Bool) {
    self.conversion = conversion
    self.precision = precision
    self.explicitPositiveSign = explicitPositiveSign
    self.uppercase = uppercase
  }

  public static var fixed: OSLogFloatFormatting { fixed() }
  public static var hex: OSLogFloatFormatting { hex() }
  public static var exponential: OSLogFloatFormatting { exponential() }
  public static var hybrid: OSLogFloatFormatting { hybrid() }

  /// With that many digits after the point: six unless told otherwise.
  public static func fixed(
    precision: @autoclosure () -> Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting("f", precision(), explicitPositiveSign, uppercase)
  }

  public static func hex(explicitPositiveSign: Bool = false, uppercase: Bool = false) -> OSLogFloatFormatting {
    OSLogFloatFormatting("a", nil, explicitPositiveSign, uppercase)
  }

  public static func exponential(
    precision: @autoclosure () -> Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting("e", precision(), explicitPositiveSign, uppercase)
  }

  /// Fixed or exponential, whichever is shorter.
  public static func hybrid(
    precision: @autoclosure () -> Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting("g", precision(), explicitPositiveSign, uppercase)
  }

  func text(_ value: Double) -> String {
    let letter = uppercase ? conversion.uppercased() : conversion
    let digits = precision.map { ".\(max(0, $0))" } ?? ""
    return String(format: "%\(explicitPositiveSign ? "+" : "")\(digits)\(letter)", value)
  }
}

/// The column of a value: the least number of characters, and the side that it stands on.
public struct OSLogStringAlignment: Sendable {
  private var columns = 0
  private var isLeft = false

  public static var none: OSLogStringAlignment { OSLogStringAlignment() }
  public static func right(columns: @autoclosure () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns())
  }
  public static func left(columns: @autoclosure () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns(), isLeft: true)
  }

  func aligned(_ text: String) -> String {
    let padding = String(repeating: " ", count: max(0, columns - text.count))
    return isLeft ? text + padding : padding + text
  }
}

/// How a truth value of a message is written.
public enum OSLogBoolFormat: Sendable {
  /// `true` or `false`.
  case truth
  /// `yes` or `no`.
  case answer

  func text(_ value: Bool) -> String {
    switch self {
    case .truth: value ? "true" : "false"
    case .answer: value ? "yes" : "no"
    }
  }
}

/// How a number of 32 bits with a meaning of its own is written.
public enum OSLogInt32ExtendedFormat: Sendable {
  /// `errno` with its text: `[2: No such file or directory]`.
  case darwinErrno
  /// The bits of a file's mode, in octal.
  case darwinMode
  case darwinSignal

  func text(_ value: Int32) -> String {
    switch self {
    case .darwinErrno: "[\(value): \(String(cString: strerror(value)))]"
    case .darwinMode: String(value, radix: 8)
    case .darwinSignal: "[\(value): \(strsignal(value).map { String(cString: $0) } ?? "unknown signal")]"
    }
  }
}
