/** Runs one kind's strategy as the generic verbs do, without a server: decode, default, prepare, validate. */
import { dialects, type Dialect } from '../../components/api/dialect.ts'
import { defaultFeatureGates, type FeatureGates } from '../../components/api/feature-gates.ts'
import { resourcesOf, type Resources } from '../../components/api/resources.ts'
import { schemaOf } from '../../components/api/schemas.ts'
import { convert } from '../../components/api/conversions/conversions.ts'
import { keepMetadata } from '../../components/api-server/kinds/metadata.ts'
import { strategyOf } from '../../components/api-server/registry/strategies.ts'
import type { ServiceAllocator } from '../../components/api-server/kinds/core/service-allocator.ts'
import type { Strategy, StrategyContext } from '../../components/api-server/kinds/strategy.ts'
import type { UserInfo } from '../../components/api-server/request/request.ts'
import { decode } from '../../components/machinery/schema/decode.ts'
import { deepFreeze, type KubeObject } from '../../components/machinery/objects/object.ts'
import {
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '../../components/machinery/validation/object-meta-validation.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { FieldError } from '../../components/machinery/objects/status-error.ts'
import { copyJson } from '../../components/machinery/values/json-copy.ts'
import { FakeReader } from './fake-reader.ts'

export const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5)

export interface StrategyRuns {
  /** The stored form after defaults and preparation, whether valid or not. */
  created(object: unknown): KubeObject
  /** `path: message` of each fault of a new object. */
  createFaults(object: unknown): string[]
  /** The stored form after an update of `old`, itself a stored form. */
  updated(old: KubeObject, object: unknown, subresource?: string): KubeObject
  updateFaults(old: KubeObject, object: unknown, subresource?: string): string[]
  /** Of a new object. */
  warnings(object: unknown): string[]
}

type Json = { apiVersion?: string; kind?: string; metadata?: object }

export interface RunOptions {
  readonly user?: UserInfo
  readonly dialect?: Dialect
  readonly serviceAllocator?: ServiceAllocator
  readonly gates?: FeatureGates
  /** Instead of the resource's own. */
  readonly strategy?: Strategy
}

type ResourceName = Exclude<keyof Resources, 'all' | 'groups'>

/** Has what makes any strategy load all that it can. */
const needsAll = {
  metadata: {},
  spec: {
    pattern: '',
    'x-kubernetes-validations': [],
    selectors: [{}],
    devices: { requests: [{ selectors: [{}] }] },
    spec: { devices: { requests: [{ selectors: [{}] }] } },
  },
  webhooks: [{ matchConditions: [{}] }],
}

/** The same for kinds whose rules need large modules, with those loaded. */
export async function loadedStrategyRuns(
  name: ResourceName,
  { dialect = dialects.kubernetes, ...more }: RunOptions = {},
): Promise<StrategyRuns> {
  const strategy = await strategyOf(resourcesOf(dialect)[name]).load?.(needsAll)
  return strategyRuns(name, { ...more, dialect, ...(strategy && { strategy }) })
}

/** `name` is the resource's in the table of all resources. */
export function strategyRuns(
  name: ResourceName,
  {
    user = { name: 'alice', groups: [] },
    dialect = dialects.kubernetes,
    serviceAllocator,
    gates = defaultFeatureGates,
    strategy = strategyOf(resourcesOf(dialect)[name]),
  }: RunOptions = {},
): StrategyRuns {
  const resource: Resource = resourcesOf(dialect)[name]
  const context: StrategyContext = {
    dialect,
    resource,
    nowMs,
    user,
    reader: new FakeReader(),
    serviceAllocator,
    dryRun: false,
    gates,
    random: () => 0.5,
  }

  function draft(object: unknown): KubeObject {
    const { metadata = {}, ...rest } = object as Json
    const named = { name: 'x', ...(resource.namespaced ? { namespace: 'ns' } : {}), ...metadata }
    const schema = schemaOf(`${resource.package}.${resource.kind}`)
    const { object: typed, problems } = decode({ ...rest, metadata: named }, schema)
    if (problems.fatal !== undefined || problems.unknown.length > 0) {
      throw new Error(`not decodable: ${problems.fatal ?? problems.unknown.join(', ')}`)
    }
    const apiVersion = resource.group === '' ? 'v1' : `${resource.group}/${resource.version}`
    const stored = convert(
      { ...typed, kind: resource.kind, apiVersion } as KubeObject,
      resource.package,
      resource.storageVersion.package,
    )
    strategy.applyDefaults?.(stored, context)
    return stored
  }

  function created(object: unknown): KubeObject {
    const stored = draft(object)
    if (strategy.hasGeneration) stored.metadata.generation = 1
    try {
      strategy.prepareForCreate?.(stored, context)
    } finally {
      strategy.release?.(stored, context)
    }
    return stored
  }

  function updated(before: KubeObject, object: unknown, subresource = ''): KubeObject {
    // Stored objects are frozen; a strategy that writes to one must fail here too.
    const old = deepFreeze(copyJson(before))
    const stored = draft(object)
    stored.metadata.resourceVersion = '7'
    keepMetadata(stored, old)
    const hasStatus = resource.subresources.some((part) => part.name === 'status')
    if (subresource === '' && hasStatus) stored['status'] = old['status']
    const hooks = subresource === '' ? strategy : strategy.subresources?.[subresource]
    try {
      hooks?.prepareForUpdate?.(stored, old, context)
    } finally {
      strategy.release?.(stored, context)
    }
    return stored
  }

  return {
    created,
    updated,
    createFaults(object) {
      const stored = created(object)
      const { namespaced } = resource
      const nameForm = strategy.nameForm ?? 'subdomain'
      return texts([
        ...validateObjectMeta(stored.metadata, { namespaced, nameForm }),
        ...(strategy.validate?.(stored, context) ?? []),
      ])
    },
    warnings: (object) => [
      ...(strategy.warningsAsGiven?.(draft(object), context) ?? []),
      ...(strategy.warnings?.(created(object), undefined, context) ?? []),
    ],
    updateFaults(old, object, subresource = '') {
      const stored = updated(old, object, subresource)
      const hooks = subresource === '' ? strategy : strategy.subresources?.[subresource]
      return texts([
        ...validateObjectMetaUpdate(stored.metadata, { ...old.metadata, resourceVersion: '7' }),
        ...(hooks?.validateUpdate?.(stored, old, context) ?? []),
      ])
    },
  }
}

function texts(errors: readonly FieldError[]): string[] {
  return errors.map(({ field, message }) => `${field}: ${message}`)
}
