/** The lease by which an API server tells that it runs, as the server and the controller manager know it (KEP-1965). */
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Dialect } from './dialect.ts'
import { labelKey } from './dialect.ts'

/** The value of the label, and a part of the identity. */
export const identityComponent = 'kube-apiserver'

export function identityLabel(dialect: Dialect): string {
  return labelKey(dialect, 'apiserver', 'identity')
}

export function isIdentityLease(lease: KubeObject | undefined, dialect: Dialect): boolean {
  return (
    lease?.metadata.namespace === dialect.systemNamespace &&
    lease.metadata.labels?.[identityLabel(dialect)] === identityComponent
  )
}
