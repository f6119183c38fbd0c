/**
 * Names by which the API server and the controller manager keep track of tokens in Secrets that are not used any more
 * (upstream: pkg/serviceaccount/legacy.go, controlplane/controller/legacytokentracking; KEP-2799).
 */
import type { Dialect } from './dialect.ts'
import { labelKey } from './dialect.ts'

export interface LegacyTokenTracking {
  /** Label of a Secret: the day on which its token was last used. */
  readonly lastUsed: string
  /** Label of a Secret: its token is not accepted since that day. */
  readonly invalidSince: string
  /** In the system namespace; its key `since` is the day on which the API server began to label. */
  readonly configMap: string
}

export function legacyTokenTracking(dialect: Dialect): LegacyTokenTracking {
  return {
    lastUsed: labelKey(dialect, '', 'legacy-token-last-used'),
    invalidSince: labelKey(dialect, '', 'legacy-token-invalid-since'),
    configMap: 'kube-apiserver-legacy-service-account-token-tracking',
  }
}

/** The day in UTC, as labels have it: `2025-01-31`. */
export function tokenDateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
