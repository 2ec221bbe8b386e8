public import Foundation

// What Apple's module has and this one cannot do: find out where the device is, and tell of places by name. A source that needs it
// is told so where it uses it, and does not compile into something that never answers.

@available(
  *, unavailable, message: "Linux has no location service here; make a CLLocation from coordinates that you have"
)
open class CLLocationManager: NSObject {}

@available(
  *, unavailable, message: "Linux has no location service here; make a CLLocation from coordinates that you have"
)
public protocol CLLocationManagerDelegate: NSObjectProtocol {}

@available(
  *, unavailable, message: "Linux has no location service here; make a CLLocation from coordinates that you have"
)
public struct CLLocationUpdate {}

@available(*, unavailable, message: "Linux has no location service here, so nobody can be asked for permission")
public enum CLAuthorizationStatus {}

@available(*, unavailable, message: "Linux has no geocoder; store the name of a place beside its coordinates")
open class CLGeocoder: NSObject {}

@available(*, unavailable, message: "Linux has no geocoder; store the name of a place beside its coordinates")
open class CLPlacemark: NSObject {}

@available(*, unavailable, message: "Linux has no region monitoring; compare CLLocation.distance(from:) with a radius")
open class CLRegion: NSObject {}

@available(*, unavailable, message: "Linux has no region monitoring; compare CLLocation.distance(from:) with a radius")
open class CLCircularRegion: NSObject {}

@available(*, unavailable, message: "Linux has no region monitoring and no beacons")
open class CLBeaconRegion: NSObject {}

@available(*, unavailable, message: "Linux has no compass here")
open class CLHeading: NSObject {}
