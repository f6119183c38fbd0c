/**
 * Settles definitions of custom resources: their names, whether they are established, and that their instances go before they
 * do (upstream: apiextensions-apiserver pkg/controller/{status,establish,finalizer}).
 */
import type { Dialect } from '../../api/dialect.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
} from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { DoubtfulNames } from './doubtful-names.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { approvalCondition } from '../custom-resources/api-approval.ts'
import { acceptNames, type Condition } from '../custom-resources/accepted-names.ts'
import type { Converters } from '../custom-resources/conversion-webhook.ts'
import { resourcesOfDefinition } from '../custom-resources/custom-version.ts'
import { hasCondition } from '../custom-resources/served-definitions.ts'
import { cleanupFinalizer, withCondition } from '../custom-resources/termination.ts'

/** Instances may wait for finalizers of their own. */
const lookAgainMs = 1000
/** Deletions run this many at a time; they share flushes. */
const batchSize = 64

export interface DefinitionControllerOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly definitions: Resource
  readonly converters: Converters
  readonly dialect: Dialect
  readonly clock: Clock
  readonly log: Log
}

/** The conditions of a definition whose names were looked at, next to be written. */
function establishment(definition: CustomResourceDefinition, isAccepted: boolean): Condition {
  const type = 'Established'
  if (hasCondition(definition, type)) {
    const held = definition.status?.conditions?.find((one) => one.type === type)
    return held as CustomResourceDefinitionCondition
  }
  if (!isAccepted) {
    return { type, status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
  }
  const message = 'the initial names have been accepted'
  // The commit that says so is the one by which the kind is served.
  return { type, status: 'True', reason: 'InitialNamesAccepted', message }
}

/** Runs until `signal` aborts; looks only at what a change may have made wrong. */
export async function settleDefinitions(
  options: DefinitionControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, client, definitions, converters, dialect, clock, log } = options
  const doubtful = new DoubtfulNames({
    settle,
    failure: 'a custom resource definition could not be settled',
    clock,
    log,
  })
  const all = (): readonly CustomResourceDefinition[] =>
    reader.list(definitions) as readonly CustomResourceDefinition[]

  async function settleNames(definition: CustomResourceDefinition): Promise<void> {
    const { names, condition } = acceptNames(definition, all())
    const nowMs = clock.now()
    const accepted = { ...definition.status, acceptedNames: names } as KubeObject['status']
    let status = withCondition(accepted, condition, nowMs)
    const isAccepted = condition.status === 'True'
    status = withCondition(status, establishment(definition, isAccepted), nowMs)
    const approval = approvalCondition(definition, dialect)
    if (approval !== undefined) status = withCondition(status, approval, nowMs)
    if (deepEqual(status, definition.status)) return
    await client.updateStatus(definitions, '', { ...definition, status })
  }

  async function removeInstances(definition: CustomResourceDefinition): Promise<number> {
    const { spec } = definition
    const versions = spec.versions.map((one) => ({ ...one, served: one.storage }))
    const [resource] = resourcesOfDefinition(
      { ...definition, spec: { ...spec, versions } },
      { remote: converters.of(definition), isTerminating: () => true },
    )
    // Without a name of its own it never had an instance.
    if (resource === undefined || resource.plural === '') return 0
    const waiting = reader
      .list(resource)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    for (let at = 0; at < waiting.length; at += batchSize) {
      await Promise.all(
        waiting.slice(at, at + batchSize).map((instance) => remove(resource, instance)),
      )
    }
    return reader.list(resource).length
  }

  async function remove(resource: Resource, { metadata }: KubeObject): Promise<void> {
    const { namespace = '', name = '' } = metadata
    try {
      await client.delete(resource, namespace, name)
    } catch (error) {
      // Somebody else deleted it meanwhile: that is what is wanted.
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }

  async function finish(definition: CustomResourceDefinition): Promise<void> {
    const { finalizers = [] } = definition.metadata
    const own = cleanupFinalizer(definition as KubeObject)
    if (!finalizers.includes(own)) return
    const left = hasCondition(definition, 'Established') ? await removeInstances(definition) : 0
    if (left > 0) {
      void clock
        .sleep(lookAgainMs, signal)
        .then(() => doubtful.add(definition.metadata.name ?? ''))
        .catch(() => {
          // The server ends.
        })
      const condition = {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      }
      const status = withCondition(
        definition.status as KubeObject['status'],
        condition,
        clock.now(),
      )
      if (deepEqual(status, definition.status)) return
      await client.updateStatus(definitions, '', { ...definition, status })
      return
    }
    const metadata = {
      ...definition.metadata,
      finalizers: finalizers.filter((name) => name !== own),
    }
    await client.update(definitions, '', { ...definition, metadata } as KubeObject)
  }

  async function settle(name: string): Promise<void> {
    const definition = reader.get(definitions, '', name) as CustomResourceDefinition | undefined
    if (definition === undefined) return
    if (definition.metadata.deletionTimestamp === undefined) await settleNames(definition)
    else await finish(definition)
  }

  const stop = reader.onChange(definitions, ({ type, key, object }) => {
    if (type !== 'DELETED') {
      doubtful.add(key)
      return
    }
    // Names that were in its way may be free now.
    const { group } = (object() as CustomResourceDefinition).spec
    for (const { metadata, spec } of all())
      if (spec.group === group) doubtful.add(metadata.name ?? '')
  })
  try {
    for (const { metadata } of all()) doubtful.add(metadata.name ?? '')
    await doubtful.run(signal)
  } finally {
    stop()
  }
}
