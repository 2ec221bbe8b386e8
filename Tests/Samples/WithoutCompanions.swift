// Sources that guard modules of Apple's systems rely on this: an app that does not name the package of the companion modules
// does not have them.
#if canImport(os) || canImport(OSLog) || canImport(CoreLocation) || canImport(UniformTypeIdentifiers)
  #error("a companion module is visible in a package that does not name it")
#endif
