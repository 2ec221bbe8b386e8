public import Foundation
import VirgaModel

/// Degrees, as on Apple's systems.
public typealias CLLocationDegrees = Double
/// Metres; negative means unknown.
public typealias CLLocationAccuracy = Double
/// Metres.
public typealias CLLocationDistance = Double
/// Metres per second; negative means unknown.
public typealias CLLocationSpeed = Double
/// Degrees clockwise from north; negative means unknown.
public typealias CLLocationDirection = Double

/// A place on Earth by its degrees.
public struct CLLocationCoordinate2D: Sendable {
  /// Degrees north of the equator, -90...90.
  public var latitude: CLLocationDegrees
  /// Degrees east of Greenwich, -180...180.
  public var longitude: CLLocationDegrees

  /// The place where the equator meets the meridian of Greenwich.
  public init() { self.init(latitude: 0, longitude: 0) }

  /// Makes a coordinate. Values out of range are kept, and `CLLocationCoordinate2DIsValid` says so.
  public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.latitude = latitude
    self.longitude = longitude
  }
}

/// Whether the degrees are within −90...90 and −180...180.
public func CLLocationCoordinate2DIsValid(_ coordinate: CLLocationCoordinate2D) -> Bool {
  (-90...90).contains(coordinate.latitude) && (-180...180).contains(coordinate.longitude)
}

/// A place on Earth with the accuracy and the time of its measurement: a value for fields of records.
///
/// Linux has no Core Location. This class has the name and the members of Apple's, so that code which stores places
/// compiles; it does not find out where the device is. See `docs/decisions/locations.md`.
public final class CLLocation: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// Where the place is.
  public let coordinate: CLLocationCoordinate2D
  /// Metres above the sea.
  public let altitude: CLLocationDistance
  /// Radius of uncertainty in metres; negative if the coordinate is invalid.
  public let horizontalAccuracy: CLLocationAccuracy
  /// Uncertainty of the altitude in metres; zero or negative if the altitude is invalid.
  public let verticalAccuracy: CLLocationAccuracy
  /// Direction of travel in degrees clockwise from north; negative if unknown.
  public let course: CLLocationDirection
  /// Metres per second; negative if unknown.
  public let speed: CLLocationSpeed
  /// When the place was determined.
  public let timestamp: Date

  /// Makes a place with all that is known of it.
  public init(
    coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
    verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed, timestamp: Date
  ) {
    self.coordinate = coordinate
    self.altitude = altitude
    self.horizontalAccuracy = horizontalAccuracy
    self.verticalAccuracy = verticalAccuracy
    self.course = course
    self.speed = speed
    self.timestamp = timestamp
  }

  /// Makes a place without speed and course.
  public convenience init(
    coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
    verticalAccuracy: CLLocationAccuracy, timestamp: Date
  ) {
    self.init(
      coordinate: coordinate, altitude: altitude, horizontalAccuracy: horizontalAccuracy,
      verticalAccuracy: verticalAccuracy, course: -1, speed: -1, timestamp: timestamp)
  }

  /// Makes a place that is known by its coordinate alone, determined now.
  public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
      horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date())
  }

  /// Metres along the great circle between the two places, on a sphere of the Earth's mean radius.
  public func distance(from location: CLLocation) -> CLLocationDistance {
    let radians = Double.pi / 180
    let (here, there) = (coordinate, location.coordinate)
    let latitude = sin((there.latitude - here.latitude) * radians / 2)
    let longitude = sin((there.longitude - here.longitude) * radians / 2)
    let chord =
      latitude * latitude
      + cos(here.latitude * radians) * cos(there.latitude * radians) * longitude * longitude
    return 2 * 6_371_008.8 * asin(min(1, chord.squareRoot()))
  }

  struct Archived: Codable {
    var numbers: [Double]
    var timestamp: Double
  }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    guard let archived = coder.archived(Archived.self) else {
      self.init(appleArchive: coder)
      return
    }
    self.init(archived)
  }

  /// - Returns: nil for another number of numbers.
  convenience init?(_ archived: Archived) {
    let numbers = archived.numbers
    guard numbers.count == 7 else { return nil }
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: numbers[0], longitude: numbers[1]), altitude: numbers[2],
      horizontalAccuracy: numbers[3], verticalAccuracy: numbers[4], course: numbers[5], speed: numbers[6],
      timestamp: Date(timeIntervalSinceReferenceDate: archived.timestamp))
  }

  var archived: Archived {
    Archived(numbers: numbers, timestamp: timestamp.timeIntervalSinceReferenceDate)
  }

  public func encode(with coder: NSCoder) { coder.archive(archived) }

  private var numbers: [Double] {
    [coordinate.latitude, coordinate.longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed]
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CLLocation else { return false }
    return other.numbers == numbers && other.timestamp == timestamp
  }
  public override var hash: Int { numbers.hashValue }
  public override var description: String { "<\(coordinate.latitude),\(coordinate.longitude)>" }
}

extension CLLocation {
  /// What the protocol leaves out reads as Core Location's "unknown": −1, and 0 for altitude and horizontal accuracy.
  /// - Parameter date: The model's time, where it is known to be finer.
  convenience init(_ model: Location, _ date: Date? = nil) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: model.latitude, longitude: model.longitude),
      altitude: model.altitude ?? 0, horizontalAccuracy: model.horizontalAccuracy ?? 0,
      verticalAccuracy: model.verticalAccuracy ?? -1, course: model.course ?? -1, speed: model.speed ?? -1,
      timestamp: date ?? model.timestamp?.date ?? Date(timeIntervalSince1970: 0))
  }

  var model: Location {
    var model = Location(latitude: coordinate.latitude, longitude: coordinate.longitude)
    model.altitude = altitude
    model.horizontalAccuracy = horizontalAccuracy
    model.verticalAccuracy = verticalAccuracy
    model.course = course
    model.speed = speed
    model.timestamp = Timestamp(timestamp)
    return model
  }
}
