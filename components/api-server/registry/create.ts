/** create: a new object, from a draft to its commit (upstream: registry/generic/registry/store.go Create). */
import { objectKindOf } from '../../api/object-kind.ts'
import { unattendedWarning } from '../../api/unattended-kinds.ts'
import type { Clock } from '../../component-base/clock.ts'
import { nextTurn } from '../../component-base/next-turn.ts'
import type { Creator } from '../../machinery/apply/managed-fields.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { alreadyExists, badRequest, isStatusError } from '../../machinery/objects/status-error.ts'
import { validateObjectMeta } from '../../machinery/validation/object-meta-validation.ts'
import { atOnce, type Steps } from '../../machinery/values/steps.ts'
import type { AdmissionRequest } from '../admission/admission.ts'
import type { AdmissionChain } from '../admission/chain.ts'
import {
  ensureNamespace,
  fillNewMetadata,
  wipeSystemMetadata,
  finalizerRules,
  generateName,
  withoutRepeatedOwners,
} from '../kinds/metadata.ts'
import type { Strategy, StrategyContext } from '../kinds/strategy.ts'
import type { CreateRequest, Written, WriteTarget } from '../request/write.ts'
import type { Entry } from '../watch-cache/entry.ts'
import { encodedObject, type EncodedObject } from '../watch-cache/object-bytes.ts'
import type { Caches } from '../watch-cache/caches.ts'
import type { FieldTracking } from './field-tracking.ts'
import { objectKey } from './object-key.ts'
import { whileHolding } from './while-holding.ts'
import { admissionOf, namesVersion, refuseInvalid } from './write-steps.ts'

/** What a create needs of the registry. */
export interface Creating {
  readonly admission: AdmissionChain
  readonly cache: Pick<Caches, 'refresh'>
  readonly clock: Clock
  readonly tracking: FieldTracking
  strategy(resource: Resource): Strategy
  strategyContext(target: CreateRequest): StrategyContext
  /** Undefined when the key is there. */
  commit(
    target: NewObject['target'],
    key: string,
    expectedRevision: 0,
    change: { readonly write: EncodedObject },
  ): Promise<Entry | undefined>
}

/** A create by generateName tries this many names (upstream: RetryGenerateName). */
const mostGeneratedNames = 8

interface PreparedBy {
  readonly strategy: Strategy
  readonly context: StrategyContext
  readonly isLarge: boolean
}

/** An object whose strategy takes something outside of it for the commit. */
interface Begun {
  readonly strategy: Strategy
  readonly context: StrategyContext
  readonly object: KubeObject
}

/** A valid new object, ready for the commit: encoded, unless that has to wait for what the object takes. */
interface NewObject {
  readonly target: Pick<WriteTarget, 'resource' | 'dryRun' | 'context'>
  readonly key: string
  readonly name: string
  readonly encoded: EncodedObject | undefined
  readonly begun: Begun | undefined
  readonly creator: Creator | undefined
  /** Called when the object is written, or is not. */
  readonly release: (() => void) | undefined
}

export function createObject(registry: Creating, request: CreateRequest): Promise<Written> {
  const { generateName: base, name } = request.object.metadata
  const generates = request.name === undefined && !name && base
  return generates ? createNamed(registry, request, base) : createOnce(registry, request, false)
}

async function createNamed(
  registry: Creating,
  request: CreateRequest,
  base: string,
): Promise<Written> {
  for (let attempt = 1; ; attempt += 1) {
    request.object.metadata.name = generateName(base, () => registry.clock.random())
    try {
      return await createOnce(registry, request, true)
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists') || attempt >= mostGeneratedNames) throw error
    }
  }
}

async function createOnce(
  registry: Creating,
  request: CreateRequest,
  isNameGenerated: boolean,
): Promise<Written> {
  const preparing = atOnce(prepareNew(registry, request, isNameGenerated))
  return await commitNew(registry, preparing instanceof Promise ? await preparing : preparing)
}

/**
 * All that comes before the commit, in one go unless something waits. What it hands on holds no part of the object that is not
 * needed: many creates wait for a commit at once, and a collection copies what they hold.
 */
function* prepareNew(
  registry: Creating,
  request: CreateRequest,
  isNameGenerated: boolean,
): Steps<NewObject> {
  const { object } = request
  const strategy = registry.strategy(request.resource)
  const isLarge = request.context?.isLarge === true
  if (strategy.begin !== undefined) yield registry.cache.refresh()
  const context = registry.strategyContext(request)
  const isOfAnother = namesVersion(object)
  const creator = yield* startNew(registry, request, { strategy, context, isLarge })
  const admitted: AdmissionRequest = {
    ...admissionOf(request, { strategy, context, object }),
    operation: 'CREATE',
    subresource: '',
    name: object.metadata.name ?? '',
    old: undefined,
    isNameGenerated,
  }
  const { admission } = registry
  const mutating = admission.mutate(admitted)
  if (mutating !== undefined) yield mutating
  const release = (): void => {
    admitted.release?.()
    strategy.release?.(object, context)
  }
  try {
    withoutRepeatedOwners(object, { warnings: request.warnings, isAdmitted: true })
    yield* checkNew(request, { strategy, context, isLarge })
    const validating = admission.validate(admitted)
    if (validating !== undefined) yield validating
    if (isLarge) yield nextTurn()
    // Readers see defaults of what the hooks set, too: upstream fills them in whenever it decodes.
    strategy.applyDefaults?.(object, context)
    if (isOfAnother && !request.dryRun) {
      throw badRequest('resourceVersion should not be set on objects to be created')
    }
    const holds = admitted.release !== undefined || strategy.release !== undefined
    return yield* newObject(request, {
      creator,
      begun: strategy.begin === undefined ? undefined : { strategy, context, object },
      release: holds ? release : undefined,
    })
  } catch (error) {
    release()
    throw error
  }
}

/** Defaults, field ownership and metadata of a new object; gives its owner. */
function* startNew(
  registry: Creating,
  request: CreateRequest,
  { strategy, context, isLarge }: PreparedBy,
): Steps<Creator | undefined> {
  const { resource, namespace, object, warnings, manager } = request
  ensureNamespace(object, namespace, resource.namespaced)
  withoutRepeatedOwners(object, { warnings, isAdmitted: false })
  wipeSystemMetadata(object)
  strategy.applyDefaults?.(object, context)
  const { nowMs } = context
  const { tracking, clock } = registry
  let creator: Creator | undefined
  if (manager !== undefined) {
    const write = { resource, subresource: '', manager, nowMs }
    const owning = tracking.run(resource, tracking.created(object, write), { isLarge })
    creator = owning instanceof Promise ? ((yield owning) as Creator | undefined) : owning
  }
  if (isLarge) yield nextTurn()
  const hasGeneration = strategy.hasGeneration === true
  fillNewMetadata(object, { nowMs, uuid: clock.uuid(), hasGeneration })
  return creator
}

function* newObject(
  { resource, namespace, object, dryRun, context }: CreateRequest,
  more: Pick<NewObject, 'creator' | 'begun' | 'release'>,
): Steps<NewObject> {
  const name = object.metadata.name ?? ''
  const key = objectKey(resource, namespace, name)
  const target = { resource, dryRun, ...(context !== undefined && { context }) }
  if (more.begun !== undefined) return { target, key, name, encoded: undefined, ...more }
  const stored = objectKindOf(resource).toStored(object)
  const last = stored instanceof Promise ? ((yield stored) as KubeObject) : stored
  return { target, key, name, encoded: encodedObject(last, more.creator), ...more }
}

/** Throws AlreadyExists. */
async function commitNew(
  registry: Creating,
  { target, key, name, encoded, creator, begun, release }: NewObject,
): Promise<Written> {
  const { resource } = target
  try {
    const written =
      encoded !== undefined
        ? await registry.commit(target, key, 0, { write: encoded })
        : begun && (await commitBegun(registry, { target, key, creator, begun }))
    if (written === undefined) throw alreadyExists(resource, name)
    return { entry: written, outcome: 'created' }
  } finally {
    release?.()
  }
}

/** Encodes once the object holds what it needs outside of itself, which may change it. */
function commitBegun(
  registry: Creating,
  { target, key, creator, begun }: Pick<NewObject, 'target' | 'key' | 'creator'> & { begun: Begun },
): Promise<Entry | undefined> {
  return whileHolding(target, { ...begun, old: undefined }, async () => {
    const stored = await objectKindOf(target.resource).toStored(begun.object)
    return await registry.commit(target, key, 0, { write: encodedObject(stored, creator) })
  })
}

/** Prepares and validates a draft that plugins have changed; throws Invalid. */
function* checkNew({ resource, object, warnings }: CreateRequest, by: PreparedBy): Steps<void> {
  const { context } = by
  const loading = by.strategy.load?.(object)
  const strategy = loading === undefined ? by.strategy : ((yield loading) as Strategy)
  if (by.isLarge) yield nextTurn()
  for (const text of strategy.warningsAsGiven?.(object, context) ?? []) warnings.push(text)
  strategy.prepareForCreate?.(object, context)
  const faults = validateObjectMeta(object.metadata, {
    namespaced: resource.namespaced,
    nameForm: strategy.nameForm ?? 'subdomain',
    path: 'metadata',
    ...finalizerRules(resource),
  })
  const others = strategy.validate?.(object, context) ?? []
  if (faults.length + others.length > 0) {
    refuseInvalid(resource, object, [...faults, ...others])
  }
  for (const text of strategy.warnings?.(object, undefined, context) ?? []) warnings.push(text)
  const unattended = unattendedWarning(resource.storagePrefix, context.gates)
  if (unattended !== undefined) warnings.push(unattended)
}
