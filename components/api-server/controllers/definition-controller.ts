/**
 * Settles CustomResourceDefinitions: accepts their names, establishes them, and deletes their instances before it lets them go
 * (upstream: apiextensions-apiserver pkg/controller/{status,establish,finalizer}).
 */
import type { Dialect } from '../../api/dialect.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
} from '../../api/generated/types.ts'
import type { Result } from '../../client/controller.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { runKeeper } from './run-keeper.ts'
import { approvalCondition } from '../custom-resources/api-approval.ts'
import { acceptNames, type Condition } from '../custom-resources/accepted-names.ts'
import type { Converters } from '../custom-resources/conversion-webhook.ts'
import { resourcesOfDefinition } from '../custom-resources/custom-version.ts'
import { hasCondition } from '../custom-resources/served-definitions.ts'
import { cleanupFinalizer, withCondition } from '../custom-resources/termination.ts'

/** Instances may wait for finalizers of their own. */
const lookAgainMs = 1000
/** Deletions run this many at a time, so that they share flushes. */
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

function allDefinitions({ reader, definitions }: DefinitionControllerOptions) {
  return reader.list(definitions) as readonly CustomResourceDefinition[]
}

/** The condition Established of a definition whose names have been checked. */
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
  // The kind is served as of the commit of this condition.
  return { type, status: 'True', reason: 'InitialNamesAccepted', message }
}

async function writeStatus(
  definition: CustomResourceDefinition,
  status: KubeObject['status'],
  { client, definitions }: DefinitionControllerOptions,
): Promise<void> {
  if (deepEqual(status, definition.status)) return
  await client.updateStatus(definitions, '', { ...definition, status })
}

async function settleNames(
  definition: CustomResourceDefinition,
  options: DefinitionControllerOptions,
): Promise<void> {
  const { names, condition } = acceptNames(definition, allDefinitions(options))
  const nowMs = options.clock.now()
  const accepted = { ...definition.status, acceptedNames: names } as KubeObject['status']
  let status = withCondition(accepted, condition, nowMs)
  const isAccepted = condition.status === 'True'
  status = withCondition(status, establishment(definition, isAccepted), nowMs)
  const approval = approvalCondition(definition, options.dialect)
  if (approval !== undefined) status = withCondition(status, approval, nowMs)
  await writeStatus(definition, status, options)
}

async function removeInstance(
  resource: Resource,
  { metadata }: KubeObject,
  client: LocalClient,
): Promise<void> {
  const { namespace = '', name = '' } = metadata
  try {
    await client.delete(resource, namespace, name)
  } catch (error) {
    // Another client deleted it meanwhile.
    if (!isStatusError(error, 'NotFound')) throw error
  }
}

/** Deletes the instances of a definition and gives the number of those that wait for finalizers. */
async function removeInstances(
  definition: CustomResourceDefinition,
  { reader, client, converters }: DefinitionControllerOptions,
): Promise<number> {
  const { spec } = definition
  const versions = spec.versions.map((one) => ({ ...one, served: one.storage }))
  const [resource] = resourcesOfDefinition(
    { ...definition, spec: { ...spec, versions } },
    { remote: converters.of(definition), isTerminating: () => true },
  )
  // A definition without accepted names never had an instance.
  if (resource === undefined || resource.plural === '') return 0
  // Other servers may have made some just now.
  await reader.refresh?.()
  const waiting = reader
    .list(resource)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  for (let at = 0; at < waiting.length; at += batchSize) {
    const batch = waiting.slice(at, at + batchSize)
    await Promise.all(batch.map((instance) => removeInstance(resource, instance, client)))
  }
  await reader.refresh?.()
  return reader.list(resource).length
}

/** Lets a deleted definition go once it has no instances. */
async function finish(
  definition: CustomResourceDefinition,
  options: DefinitionControllerOptions,
): Promise<Result> {
  const { finalizers = [] } = definition.metadata
  const own = cleanupFinalizer(definition as KubeObject)
  if (!finalizers.includes(own)) return {}
  const isEstablished = hasCondition(definition, 'Established')
  const left = isEstablished ? await removeInstances(definition, options) : 0
  if (left > 0) {
    const condition = {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: 'CustomResource deletion is in progress',
    }
    const held = definition.status as KubeObject['status']
    await writeStatus(definition, withCondition(held, condition, options.clock.now()), options)
    return { requeueAfterMs: lookAgainMs }
  }
  const metadata = {
    ...definition.metadata,
    finalizers: finalizers.filter((name) => name !== own),
  }
  await options.client.update(options.definitions, '', { ...definition, metadata } as KubeObject)
  return {}
}

/** Runs until `signal` aborts. */
export async function settleDefinitions(
  options: DefinitionControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, definitions, clock, log } = options
  const reconcile = async (name: string): Promise<Result | void> => {
    const definition = reader.get(definitions, '', name) as CustomResourceDefinition | undefined
    if (definition === undefined) return
    if (definition.metadata.deletionTimestamp !== undefined)
      return await finish(definition, options)
    await settleNames(definition, options)
  }
  const watch = (add: (key: string) => void): (() => void)[] => {
    for (const { metadata } of allDefinitions(options)) add(metadata.name ?? '')
    const stop = reader.onChange(definitions, ({ type, key, object }) => {
      if (type !== 'DELETED') {
        add(key)
        return
      }
      // Names that conflicted with those of the deleted definition may be free now.
      const { group } = (object() as CustomResourceDefinition).spec
      for (const { metadata, spec } of allDefinitions(options))
        if (spec.group === group) add(metadata.name ?? '')
    })
    return [stop]
  }
  await runKeeper({ name: 'custom-resource-definitions', reconcile, watch, clock, log }, signal)
}
