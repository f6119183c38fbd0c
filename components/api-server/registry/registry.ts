/**
 * Registry: what create, update and get mean, once for every resource (upstream: registry/generic/registry/store.go).
 * A write is: draft -> strategy -> admission -> validation -> one encoding -> one commit -> the cache's entry.
 */
import type { Dialect } from '../../api/dialect.ts'
import { objectKindOf } from '../../api/object-kind.ts'
import type { Resources } from '../../api/resources.ts'
import { defaultFeatureGates, type FeatureGates } from '../../api/feature-gates.ts'
import type { Clock } from '../../component-base/clock.ts'
import { largeBytes, nextTurn } from '../../component-base/next-turn.ts'
import type { KubeObject, ManagedFieldsEntry } from '../../machinery/objects/object.ts'
import { validateObjectMetaUpdate } from '../../machinery/validation/object-meta-validation.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError, notFound } from '../../machinery/objects/status-error.ts'
import type { AdmissionRequest } from '../admission/admission.ts'
import type { AdmissionChain } from '../admission/chain.ts'
import { Entry } from '../watch-cache/entry.ts'
import { encodedObject, type EncodedObject } from '../watch-cache/object-bytes.ts'
import { storeKey } from '../watch-cache/store-keys.ts'
import type { Caches } from '../watch-cache/caches.ts'
import { attemptWrite, type Attempt } from './attempts.ts'
import { checkVersion } from './check-version.ts'
import { createObject } from './create.ts'
import {
  ensureNamespace,
  finalizerRules,
  keepMetadata,
  specChanged,
  withoutRepeatedOwners,
} from '../kinds/metadata.ts'
import { whileHolding } from './while-holding.ts'
import { workingState } from './working-state.ts'
import {
  admissionOf,
  hooksFor,
  isSameState,
  loadedFor,
  refuseInvalid,
  separate,
  type Update,
} from './write-steps.ts'
import { objectKey } from './object-key.ts'
import { FieldTracking, setManagedFields } from './field-tracking.ts'
import type { ServiceAllocator } from '../kinds/core/service-allocator.ts'
import { refuseTooLarge, StoredObjects, type StoredObjectsOptions } from './stored-objects.ts'
import { strategyOf } from './strategies.ts'
import type { Strategy, StrategyContext } from '../kinds/strategy.ts'
import { noteMade } from '../request/request.ts'
import type { CreateRequest, UpdateRequest, Written, WriteTarget } from '../request/write.ts'

export interface RegistryOptions extends StoredObjectsOptions {
  readonly dialect: Dialect
  readonly resources: Resources
  readonly clock: Clock
  readonly admission: AdmissionChain
  /** Default: each at its own default. */
  readonly gates?: FeatureGates
  /** Gives Services their addresses and ports. */
  readonly serviceAllocator?: ServiceAllocator
  /** How long objects of a kind live after their last write; undefined or absent: until they are deleted. */
  readonly lifetimeMs?: (resource: Resource) => number | undefined
}

type UpdateAttempt = Attempt & { readonly current: Entry; readonly key: string }

export class Registry {
  readonly #options: RegistryOptions
  /** Keeps `metadata.managedFields`. */
  readonly tracking: FieldTracking
  readonly stored: StoredObjects

  constructor(options: RegistryOptions) {
    this.#options = options
    this.tracking = new FieldTracking(options.resources)
    this.stored = new StoredObjects(options)
  }

  get cache(): Caches {
    return this.#options.cache
  }

  get admission(): AdmissionChain {
    return this.#options.admission
  }

  get resources(): Resources {
    return this.#options.resources
  }

  get clock(): Clock {
    return this.#options.clock
  }

  strategy(resource: Resource): Strategy {
    return strategyOf(resource)
  }

  strategyContext(target: Pick<WriteTarget, 'resource' | 'user' | 'dryRun'>): StrategyContext {
    const { dialect, clock, cache, serviceAllocator, gates = defaultFeatureGates } = this.#options
    const { resource, user, dryRun } = target
    return {
      dialect,
      serviceAllocator,
      resource,
      nowMs: clock.now(),
      user,
      reader: cache,
      dryRun,
      gates,
      random: () => clock.random(),
    }
  }

  /** The newest committed state. Throws NotFound, and InternalError when what is stored cannot be read. */
  get(resource: Resource, namespace: string, name: string): Entry {
    return this.stored.get(resource, objectKey(resource, namespace, name), name)
  }

  /** Throws AlreadyExists; not for a name that it generates, of which it tries another. */
  create(request: CreateRequest): Promise<Written> {
    return createObject(this, request)
  }

  async update(request: UpdateRequest): Promise<Written> {
    const { resource, namespace, name } = request
    const key = objectKey(resource, namespace, name)
    const find = (): Entry | undefined => this.stored.find(resource, key)
    // What others hold that is outside of the object is to be the newest, too.
    if (this.strategy(resource).begin !== undefined) await this.cache.refresh()
    return await attemptWrite(this.cache, { resource, key, find }, async (attempt) => {
      const { current } = attempt
      if (current !== undefined)
        return await this.#updateOnce(request, { ...attempt, current, key })
      if (request.createInstead === undefined) throw notFound(resource, name)
      try {
        return await this.create({ ...request, object: await request.createInstead(), name })
      } catch (error) {
        // Another writer was first: now there is something to update.
        if (!isStatusError(error, 'AlreadyExists') || find() === undefined) throw error
        return undefined
      }
    })
  }

  /** Undefined when another writer was first: try again. A caller that named a version then hears of the conflict. */
  async #updateOnce(request: UpdateRequest, on: UpdateAttempt): Promise<Written | undefined> {
    const update = await this.#draftUpdate(request, on.current)
    let admitted: AdmissionRequest | undefined
    try {
      admitted = await this.#prepareAdmitted(request, update)
      if (request.isAdmitted !== true) await this.#options.admission.validate(admitted)
      if (update.isLarge) await nextTurn()
      return await this.#commitUpdate(request, update, on)
    } finally {
      admitted?.release?.()
      update.strategy.release?.(update.object, update.context)
    }
  }

  /** The draft that the request's change makes of the current state, with its field managers. */
  async #draftUpdate(request: UpdateRequest, current: Entry): Promise<Update> {
    const { resource, namespace, subresource, manager, warnings } = request
    const strategy = this.strategy(resource)
    const context = this.strategyContext(request)
    const isLarge = request.context?.isLarge === true || current.mostBytes >= largeBytes
    if (request.context !== undefined) request.context.isLarge = isLarge
    if (isLarge) {
      await nextTurn()
      await current.decoded()
    }
    const old = await workingState(resource, current)
    const object = await request.change(old, current)
    if (isLarge) await nextTurn()
    ensureNamespace(object, namespace, resource.namespaced)
    withoutRepeatedOwners(object, { warnings, isAdmitted: false })
    checkVersion(object, current, { resource, strategy })
    strategy.applyDefaults?.(object, context)
    if (manager !== undefined) {
      const write = { resource, subresource, manager, nowMs: context.nowMs }
      await this.tracking.run(resource, this.tracking.updated(object, old, write), { isLarge })
    }
    return { strategy, context, object, old, isLarge }
  }

  /** The mutating phase of admission, preparation and validation; throws Invalid. */
  async #prepareAdmitted(request: UpdateRequest, update: Update): Promise<AdmissionRequest> {
    const { subresource, name, warnings } = request
    const { admission } = this.#options
    const { object, old, isLarge } = update
    const { managedFields } = object.metadata
    keepMetadata(object, old)
    separate(request, update)
    const admitted: AdmissionRequest = {
      ...admissionOf(request, update),
      operation: 'UPDATE',
      subresource,
      name,
      old,
    }
    if (request.isAdmitted !== true) await admission.mutate(admitted)
    withoutRepeatedOwners(object, { warnings, isAdmitted: true })
    const loaded = { ...update, strategy: await loadedFor(object, update.strategy) }
    if (admitted.rounds?.isRewritten === true) {
      keepMetadata(object, old)
      separate(request, loaded)
    }
    this.#prepareUpdate(request, loaded, managedFields)
    if (isLarge) await nextTurn()
    this.#checkUpdate(request, loaded)
    return admitted
  }

  #prepareUpdate(
    { subresource }: UpdateRequest,
    { strategy, context, object, old }: Update,
    managedFields: ManagedFieldsEntry[] | undefined,
  ): void {
    const hooks = hooksFor(strategy, subresource)
    if (hooks === undefined) return
    hooks.prepareForUpdate?.(object, old, context)
    // Sub-resources restore most metadata; who changed something through them is kept.
    if (subresource !== '') setManagedFields(object, managedFields)
  }

  /** Counts the generation and validates; throws Invalid. */
  #checkUpdate({ resource, subresource, warnings }: UpdateRequest, update: Update): void {
    const { strategy, context, object, old } = update
    if (strategy.hasGeneration === true && specChanged(object, old, strategy.statusCounts)) {
      object.metadata.generation = (old.metadata.generation ?? 0) + 1
    }
    refuseInvalid(resource, object, [
      ...validateObjectMetaUpdate(object.metadata, old.metadata, finalizerRules(resource)),
      ...(hooksFor(strategy, subresource)?.validateUpdate?.(object, old, context) ?? []),
    ])
    if (subresource === '') warnings.push(...(strategy.warnings?.(object, old, context) ?? []))
  }

  /** Undefined when another writer was first. */
  async #commitUpdate(
    request: UpdateRequest,
    { strategy, context, object, old, isLarge }: Update,
    { current, key, isNewest }: UpdateAttempt,
  ): Promise<Written | undefined> {
    const { resource } = request
    const next = await objectKindOf(resource).toStored(object)
    if (isReadyToGo(strategy, object)) {
      const removed = await this.commit(request, key, current.revision, { remove: next })
      if (removed === undefined) return undefined
      if (!request.dryRun) await strategy.afterDelete?.(object, context)
      return { entry: removed, outcome: 'removed' }
    }
    if (isSameState(next, current.object()) && !(await this.stored.isStale(resource, current))) {
      return (await isNewest()) ? { entry: current, outcome: 'unchanged' } : undefined
    }
    if (isLarge) await nextTurn()
    const written = await whileHolding(request, { strategy, context, object, old }, async () => {
      // What the object takes outside of itself may have changed it.
      const last =
        strategy.begin === undefined ? next : await objectKindOf(resource).toStored(object)
      return await this.commit(request, key, current.revision, { write: encodedObject(last) })
    })
    if (written === undefined) return undefined
    return { entry: written, outcome: 'updated' }
  }

  /** Both phases of admission, for what is not a plain write: deletions and actions below an object. */
  async admit(request: AdmissionRequest): Promise<void> {
    await this.#options.admission.mutate(request)
    await this.#options.admission.validate(request)
  }

  /**
   * One commit. Undefined when the compare was lost; then the cache holds the winner's state. A removed object's entry shows
   * its last state.
   */
  async commit(
    target: Pick<WriteTarget, 'resource' | 'dryRun' | 'context'>,
    key: string,
    expectedRevision: number,
    change: { readonly write: EncodedObject } | { readonly remove: KubeObject },
  ): Promise<Entry | undefined> {
    const { store, lifetimeMs } = this.#options
    const cache = this.cache.of(target.resource)
    const write = 'write' in change ? change.write : undefined
    const { bytes } = 'write' in change ? change.write : encodedObject(change.remove)
    if (write !== undefined) refuseTooLarge(bytes)
    if (target.dryRun) {
      if (target.context !== undefined) target.context.isDryRun = true
      await cache.refresh()
      const there = cache.collection(target.resource).get(key)
      if ((there?.revision ?? 0) !== expectedRevision) return undefined
      return new Entry(key, expectedRevision, bytes)
    }
    const keyText = storeKey(target.resource, key)
    const result = await store.txn({
      key: keyText,
      expectedRevision,
      value: write === undefined ? null : this.stored.toStorage(target.resource, keyText, write),
      expiresAfterMs: lifetimeMs?.(target.resource),
    })
    if (!result.ok) {
      const seen = result.current?.modRevision
      await (seen === undefined ? cache.current() : cache.applied(seen))
      return undefined
    }
    if (target.context !== undefined) noteMade(target.context, key, result.revision)
    // The commit is in the cache already, nearly always.
    if (cache.revision < result.revision) await cache.applied(result.revision)
    const entry = cache.collection(target.resource).get(key)
    return entry?.revision === result.revision ? entry : new Entry(key, result.revision, bytes)
  }
}

/** True when nothing holds a terminating object any more. */
export function isReadyToGo(strategy: Strategy, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata
  return (
    deletionTimestamp !== undefined &&
    deletionGracePeriodSeconds === 0 &&
    finalizers.length === 0 &&
    strategy.holdsDeletion?.(object) !== true
  )
}
