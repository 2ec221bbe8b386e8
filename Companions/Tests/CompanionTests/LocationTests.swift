import CloudKit
import CoreLocation
import Testing

@Suite struct LocationTests {
  @Test func bothModulesMeanTheSameClass() {
    let here: CoreLocation.CLLocation = CLLocation(latitude: 47.5, longitude: 19)
    let record = CKRecord(recordType: "Place")
    record["place"] = here
    let stored: CloudKit.CLLocation? = record["place"] as? CLLocation
    #expect(stored?.coordinate.latitude == here.coordinate.latitude)
    #expect(CLLocationCoordinate2DIsValid(CLLocationCoordinate2D(latitude: 90, longitude: 180)))
  }
}
