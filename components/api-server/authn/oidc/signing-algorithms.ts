/** Signing algorithms that issuers may use; apart from what verifies them, which is not loaded without an issuer. */

/** Signing algorithms of the configuration file's issuers (upstream: AllValidSigningAlgorithms). */
export const signingAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const
