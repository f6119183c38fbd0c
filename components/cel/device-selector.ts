/**
 * DeviceSelector: an expression that chooses devices (upstream: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go;
 * KEP-4381). `device.driver` is a text; `device.attributes` and `device.capacity` hold a map by domain, which is empty for a domain
 * that the device does not name.
 */
import { celMap, type CelMap } from '@bufbuild/cel'
import { estimateCel, type Sized } from './cel-estimate.ts'
import { semverBox } from './cel-semver.ts'
import { CelCompileError, CelTyped, compileCel } from './cel.ts'
import { quantityBox, quantityType } from './cel-functions.ts'
import { dyn, mapOf, string, typeName, type CelType } from './cel-types.ts'

/** One of these is set. */
interface Attribute {
  readonly int?: number
  readonly bool?: boolean
  readonly string?: string
  readonly version?: string
}

/** What selectors see of a device. */
export interface SelectableDevice {
  readonly driver: string
  readonly attributes: Readonly<Record<string, Attribute>>
  /** Quantities. */
  readonly capacity: Readonly<Record<string, string>>
}

export interface DeviceSelector {
  /** The most that an evaluation costs, in steps. */
  readonly mostCost: number
  /** Throws an Error when the expression fails for this device. */
  matches(device: SelectableDevice): boolean
}

const device: CelType = {
  kind: 'object',
  name: 'kubernetes.DRADevice',
  fields: {
    driver: string,
    attributes: mapOf(string, mapOf(string, dyn)),
    capacity: mapOf(string, mapOf(string, quantityType)),
  },
}

/** Texts in it are at most so long, and maps have at most so many entries (upstream: the limits of ResourceSlice). */
const text: Sized = { most: 64, leastBytes: 2 }
const perDomain: Sized = { most: 32, leastBytes: 2, keys: text, items: text }
const byDomain: Sized = { most: 32, leastBytes: 2, keys: text, items: perDomain }
const root: Sized = {
  most: 0,
  leastBytes: 2,
  fields: new Map([
    ['driver', text],
    ['attributes', byDomain],
    ['capacity', byDomain],
  ]),
}

/** Throws CelCompileError. */
export function compileDeviceSelector(expression: string): DeviceSelector {
  const program = compileCel(expression, { variables: { device }, choosesDevices: true })
  const { kind } = program.type
  if (kind !== 'bool' && kind !== 'dyn') {
    const found = typeName(program.type)
    throw new CelCompileError(`must evaluate to bool or the unknown type, not ${found}`)
  }
  return {
    mostCost: estimateCel(program.tree, root),
    matches: (one) => {
      const result = program.evaluate({ device: valueOf(one) })
      if (typeof result === 'boolean') return result
      throw new Error('CEL result could not be converted to bool')
    },
  }
}

function valueOf({ driver, attributes, capacity }: SelectableDevice): object {
  return {
    driver,
    attributes: withDomains(attributes, driver, attributeValue),
    capacity: withDomains(capacity, driver, quantityBox),
  }
}

function attributeValue(attribute: Attribute, name: string): unknown {
  if (attribute.int !== undefined) return BigInt(attribute.int)
  if (attribute.bool !== undefined) return attribute.bool
  if (attribute.string !== undefined) return attribute.string
  if (attribute.version === undefined)
    throw new Error(`attribute ${name}: unsupported attribute value`)
  return semverBox(attribute.version)
}

type Entries = Map<string, never>

/** A name without a domain is in the driver's. */
function withDomains<T>(
  values: Readonly<Record<string, T>>,
  driver: string,
  read: (value: T, name: string) => unknown,
): CelTyped {
  const domains = new Map<string, Entries>()
  for (const [name, value] of Object.entries(values)) {
    const slash = name.indexOf('/')
    const domain = slash < 0 ? driver : name.slice(0, slash)
    const entries = domains.get(domain) ?? (new Map() as Entries)
    domains.set(domain, entries)
    entries.set(name.slice(slash + 1), read(value, name) as never)
  }
  return new CelTyped(withEmptyDomains(domains))
}

/** Any domain can be read, but only those of the device are in it. */
function withEmptyDomains(domains: Map<string, Entries>): CelMap {
  const inner = celMap(domains as never)
  const none = celMap(new Map())
  return Object.create(inner, {
    get: { value: (key: string) => inner.get(key) ?? none },
    has: { value: (key: string) => inner.has(key) },
  }) as CelMap
}
