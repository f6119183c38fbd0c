/** Settings of extenders: webhooks that filter, prioritize, preempt and bind (upstream: apis/config/types.go, Extender). */
import { parseDuration } from '../../component-base/flags.ts'
import { ConfigurationError } from '../../machinery/configuration/read-configuration.ts'
import type { FieldPath } from '../../machinery/validation/field-path.ts'
import { qualifiedName } from '../../machinery/validation/names.ts'

export interface ManagedResource {
  readonly name: string
  /** NodeResourcesFit does not look at the resource. */
  readonly ignoredByScheduler: boolean
}

export interface ExtenderTls {
  readonly insecure?: boolean
  readonly serverName?: string
  readonly certFile?: string
  readonly keyFile?: string
  readonly caFile?: string
  /** Base64, as bytes are in JSON. */
  readonly certData?: string
  readonly keyData?: string
  readonly caData?: string
}

export interface ExtenderSettings {
  readonly urlPrefix: string
  /** '' is a verb that the extender does not have. */
  readonly filterVerb: string
  readonly preemptVerb: string
  readonly prioritizeVerb: string
  readonly bindVerb: string
  readonly weight: number
  /** With it and without an authority, any certificate is accepted, as upstream. */
  readonly enableHTTPS: boolean
  readonly tlsConfig: ExtenderTls | undefined
  readonly httpTimeoutMs: number
  /** It knows the nodes: it gets and gives their names alone. */
  readonly nodeCacheCapable: boolean
  /** Only pods that ask for one of these concern it; none means every pod. */
  readonly managedResources: readonly ManagedResource[]
  /** An extender that fails does not fail the attempt. */
  readonly ignorable: boolean
}

export type RawExtender = Partial<Omit<ExtenderSettings, 'httpTimeoutMs' | 'managedResources'>> & {
  readonly httpTimeout?: string
  readonly managedResources?: readonly Partial<ManagedResource>[]
}

/** Upstream's 5 seconds. */
const defaultTimeoutMs = 5000

function timeoutOf(text: string | undefined): number {
  if (text === undefined || text === '') return defaultTimeoutMs
  const ms = parseDuration(text)
  if (ms === undefined) throw new ConfigurationError(`time: invalid duration "${text}"`)
  return ms === 0 ? defaultTimeoutMs : ms
}

/** With upstream's defaults. */
export function completeExtenders(raw: readonly RawExtender[], at: FieldPath): ExtenderSettings[] {
  return raw.map((extender, i) => {
    const { httpTimeout, managedResources = [], urlPrefix = '' } = extender
    if (!URL.canParse(urlPrefix)) at.index(i).child('urlPrefix').invalid(urlPrefix, 'must be a URL')
    return {
      filterVerb: '',
      preemptVerb: '',
      prioritizeVerb: '',
      bindVerb: '',
      weight: 0,
      nodeCacheCapable: false,
      ignorable: false,
      tlsConfig: undefined,
      ...extender,
      urlPrefix,
      enableHTTPS: extender.enableHTTPS ?? false,
      httpTimeoutMs: timeoutOf(httpTimeout),
      managedResources: managedResources.map(({ name = '', ignoredByScheduler = false }) => ({
        name,
        ignoredByScheduler,
      })),
    }
  })
}

function isExtendedResource(name: string): boolean {
  return (
    name.includes('/') &&
    !name.startsWith('requests.') &&
    qualifiedName(`requests.${name}`).length === 0
  )
}

export function validateExtenders(extenders: readonly ExtenderSettings[], at: FieldPath): void {
  const managed = new Set<string>()
  for (const [i, { prioritizeVerb, weight, managedResources }] of extenders.entries()) {
    if (prioritizeVerb !== '' && weight <= 0) {
      at.index(i).child('weight').invalid(weight, 'must have a positive weight applied to it')
    }
    for (const [j, { name }] of managedResources.entries()) {
      const field = at.index(i).child('managedResources').index(j).child('name')
      const faults = qualifiedName(name)
      field.invalidEach(name, faults)
      if (faults.length === 0 && !isExtendedResource(name)) {
        field.invalid(name, 'is an invalid extended resource name')
      }
      if (managed.has(name)) field.invalid(name, 'duplicate extender managed resource name')
      managed.add(name)
    }
  }
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== '').length
  if (binders > 1) {
    const value = `found ${binders} extenders implementing bind`
    at.invalid(value, 'only one extender can implement bind')
  }
}
