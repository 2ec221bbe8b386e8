// Mathematics alone; nothing else of the C library is taken.
#if canImport(Glibc)
  import func Glibc.asin
  import func Glibc.cos
  import func Glibc.sin
#elseif canImport(Musl)
  import func Musl.asin
  import func Musl.cos
  import func Musl.sin
#else
  import func Darwin.asin
  import func Darwin.cos
  import func Darwin.sin
#endif

extension Location {
  /// Metres along a sphere of the Earth's mean radius; at most 0.5 % off the ellipsoid.
  public func distance(to other: Location) -> Double {
    let (northing, easting) = (
      sin((latitude - other.latitude).radians / 2), sin((longitude - other.longitude).radians / 2)
    )
    let half = northing * northing + cos(latitude.radians) * cos(other.latitude.radians) * easting * easting
    return 2 * Self.earthRadiusMetres * asin(min(1, half.squareRoot()))
  }

  /// The smallest box of latitudes and longitudes around all places within `distance` metres. Longitudes may pass 180;
  /// near a pole, and for distances that reach one, the box goes all the way round.
  public func box(around distance: Double) -> (latitudes: ClosedRange<Double>, longitudes: ClosedRange<Double>) {
    // A little more than needed, so that rounding never loses a place; the exact distance is checked afterwards.
    let angle = min(.pi, max(0, distance) / Self.earthRadiusMetres * 1.000_001 + 1e-9)
    let (south, north) = (latitude - angle * 180 / .pi, latitude + angle * 180 / .pi)
    // A latitude that no place on Earth has is taken for the pole beside it.
    func onEarth(_ degrees: Double) -> Double { max(-90, min(90, degrees)) }
    let everywhere = (onEarth(south)...onEarth(north), -180.0...180.0)
    guard south > -90, north < 90, angle < .pi / 2 else { return everywhere }
    let span = asin(min(1, sin(angle) / cos(latitude.radians))) * 180 / .pi
    guard span < 179 else { return everywhere }
    return (south...north, (longitude - span)...(longitude + span))
  }

  /// The mean radius of the earth.
  public static let earthRadiusMetres = 6_371_008.8
}

extension Double {
  fileprivate var radians: Double { self * .pi / 180 }
}
