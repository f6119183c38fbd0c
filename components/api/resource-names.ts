/** Resource names: which of them are native and which extended (upstream: core/v1/helper IsNativeResource, IsExtendedResourceName). */
import { qualifiedName } from '../machinery/validation/names.ts'
import type { Dialect } from './dialect.ts'

/** Without a domain, or in the product's own. */
export function isNativeResource(name: string, dialect: Dialect): boolean {
  return !name.includes('/') || name.includes(`${dialect.labelDomain}/`)
}

/** A resource some device plugin offers: it has a foreign domain and may be asked for in a quota. */
export function isExtendedResource(name: string, dialect: Dialect): boolean {
  if (isNativeResource(name, dialect) || name.startsWith('requests.')) return false
  return qualifiedName(`requests.${name}`).length === 0
}
