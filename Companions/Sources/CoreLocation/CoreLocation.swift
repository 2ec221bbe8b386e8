// The places that fields of records hold are the same types as in `import CloudKit`: a file may import both.
@_exported import class CloudKit.CLLocation
@_exported import struct CloudKit.CLLocationCoordinate2D
@_exported import func CloudKit.CLLocationCoordinate2DIsValid
@_exported import typealias CloudKit.CLLocationAccuracy
@_exported import typealias CloudKit.CLLocationDegrees
@_exported import typealias CloudKit.CLLocationDirection
@_exported import typealias CloudKit.CLLocationDistance
@_exported import typealias CloudKit.CLLocationSpeed
@_exported import Foundation
