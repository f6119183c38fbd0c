/** LegacyTokenUses: tells who follows them that tokens in Secrets are used, so that authentication itself writes nothing. */

export interface LegacyTokenUses {
  /** The token in the Secret `namespace/name` was accepted. */
  used(secret: string): void
  /** Returns the way to stop. */
  follow(handler: (secret: string) => void): () => void
}

export function createLegacyTokenUses(): LegacyTokenUses {
  const handlers = new Set<(secret: string) => void>()
  return {
    used: (secret) => {
      for (const handler of handlers) handler(secret)
    },
    follow: (handler) => {
      handlers.add(handler)
      return () => void handlers.delete(handler)
    },
  }
}
