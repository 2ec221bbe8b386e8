public import Foundation

/// A message for a log: a text with values that say how they are written and who may read them.
///
/// Values are closures, called once, and only if the message is written.
public struct OSLogMessage: ExpressibleByStringInterpolation, ExpressibleByStringLiteral {
  private let interpolation: OSLogInterpolation

  public init(stringLiteral value: String) {
    var interpolation = OSLogInterpolation(literalCapacity: 0, interpolationCount: 0)
    interpolation.appendLiteral(value)
    self.interpolation = interpolation
  }

  public init(stringInterpolation: OSLogInterpolation) { interpolation = stringInterpolation }

  func rendered(showsPrivate: Bool) -> String { interpolation.rendered(showsPrivate: showsPrivate) }
}

/// What stands between the quotes of an `OSLogMessage`.
public struct OSLogInterpolation: StringInterpolationProtocol {
  private enum Part {
    case text(String)
    case value(() -> String, isPublicByNature: Bool, OSLogPrivacy, OSLogStringAlignment)
  }

  private var parts: [Part] = []

  public init(literalCapacity: Int, interpolationCount: Int) { parts.reserveCapacity(2 * interpolationCount + 1) }

  public mutating func appendLiteral(_ literal: String) { parts.append(.text(literal)) }

  public mutating func appendInterpolation(
    _ string: @autoclosure @escaping () -> String, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) {
    append(string, isPublic: false, privacy, align)
  }

  // Numbers and truth values have descriptions too, and are public.
  @_disfavoredOverload
  public mutating func appendInterpolation<T: CustomStringConvertible>(
    _ value: @autoclosure @escaping () -> T, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) {
    append({ value().description }, isPublic: false, privacy, align)
  }

  public mutating func appendInterpolation(
    _ object: @autoclosure @escaping () -> NSObject?, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) {
    append({ object().map { $0.description } ?? "(null)" }, isPublic: false, privacy)
  }

  public mutating func appendInterpolation(
    _ error: @autoclosure @escaping () -> any Error, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) {
    append({ String(describing: error()) }, isPublic: false, privacy)
  }

  public mutating func appendInterpolation(
    _ type: @autoclosure @escaping () -> Any.Type, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) {
    append({ String(describing: type()) }, isPublic: true, privacy, align)
  }

  public mutating func appendInterpolation<T: FixedWidthInteger>(
    _ number: @autoclosure @escaping () -> T, format: OSLogIntegerFormatting = .decimal,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) {
    append({ format.text(number()) }, isPublic: true, privacy, align)
  }

  public mutating func appendInterpolation(
    _ number: @autoclosure @escaping () -> Int32, format: OSLogInt32ExtendedFormat, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) {
    append({ format.text(number()) }, isPublic: true, privacy)
  }

  public mutating func appendInterpolation(
    _ number: @autoclosure @escaping () -> Double, format: OSLogFloatFormatting = .fixed,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) {
    append({ format.text(number()) }, isPublic: true, privacy, align)
  }

  public mutating func appendInterpolation(
    _ number: @autoclosure @escaping () -> Float, format: OSLogFloatFormatting = .fixed,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) {
    append({ format.text(Double(number())) }, isPublic: true, privacy, align)
  }

  public mutating func appendInterpolation(
    _ value: @autoclosure @escaping () -> Bool, format: OSLogBoolFormat = .truth, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) {
    append({ format.text(value()) }, isPublic: true, privacy)
  }

  public mutating func appendInterpolation(
    _ pointer: @autoclosure @escaping () -> UnsafeRawPointer?, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) {
    append({ pointer().map { "\($0)" } ?? "0x0" }, isPublic: true, privacy)
  }

  private mutating func append(
    _ value: @escaping () -> String, isPublic: Bool, _ privacy: OSLogPrivacy, _ align: OSLogStringAlignment = .none
  ) {
    parts.append(.value(value, isPublicByNature: isPublic, privacy, align))
  }

  func rendered(showsPrivate: Bool) -> String {
    parts.reduce(into: "") { text, part in
      switch part {
      case .text(let literal): text += literal
      case .value(let value, let isPublic, let privacy, let align):
        text += align.aligned(privacy.written(value(), isPublicByNature: isPublic, showsPrivate: showsPrivate))
      }
    }
  }
}
