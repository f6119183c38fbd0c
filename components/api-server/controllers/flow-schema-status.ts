/**
 * Keeps the condition Dangling of every FlowSchema: whether its priority level exists (upstream:
 * flowcontrol/apf_controller.go).
 */
import type { FlowSchema, FlowSchemaCondition } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import { timestamp, type Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { runKeeper } from './run-keeper.ts'

export interface FlowSchemaStatusOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Log
}

function levelOf(schema: FlowSchema): string {
  return schema.spec?.priorityLevelConfiguration?.name ?? ''
}

/** The condition to write; undefined when the status has it. */
function missingCondition(
  schema: FlowSchema,
  now: { exists: boolean; nowMs: number },
): FlowSchemaCondition | undefined {
  const { exists, nowMs } = now
  const quoted = JSON.stringify(levelOf(schema))
  const wanted = {
    type: 'Dangling',
    status: exists ? 'False' : 'True',
    reason: exists ? 'Found' : 'NotFound',
    message:
      `This FlowSchema references the PriorityLevelConfiguration object named ${quoted} ` +
      (exists ? 'and it exists' : 'but there is no such object'),
  }
  const held = schema.status?.conditions?.find(({ type }) => type === 'Dangling')
  const isSame = held?.status === wanted.status
  if (isSame && held?.reason === wanted.reason && held.message === wanted.message) return undefined
  const lastTransitionTime = (isSame ? held?.lastTransitionTime : undefined) ?? timestamp(nowMs)
  return { ...wanted, lastTransitionTime }
}

/** Runs until `signal` aborts. */
export async function keepFlowSchemaStatus(
  options: FlowSchemaStatusOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, client, resources, clock, log } = options
  const { flowSchemas, priorityLevelConfigurations: levels } = resources
  const schemas = (): readonly FlowSchema[] => reader.list(flowSchemas) as readonly FlowSchema[]
  await runKeeper(
    {
      name: 'flow-schema-status',
      reconcile: async (name) => {
        const schema = reader.get(flowSchemas, '', name) as FlowSchema | undefined
        if (schema === undefined) return
        const exists = reader.get(levels, '', levelOf(schema)) !== undefined
        const condition = missingCondition(schema, { exists, nowMs: clock.now() })
        if (condition === undefined) return
        const others = schema.status?.conditions?.filter(({ type }) => type !== 'Dangling') ?? []
        const status = { ...schema.status, conditions: [...others, condition] }
        await client.updateStatus(flowSchemas, '', { ...schema, status })
      },
      watch: (add) => {
        for (const { metadata } of schemas()) add(metadata.name ?? '')
        return [
          reader.onChange(flowSchemas, ({ type, key }) => {
            if (type !== 'DELETED') add(key)
          }),
          reader.onChange(levels, ({ type, key }) => {
            if (type === 'MODIFIED') return
            for (const schema of schemas())
              if (levelOf(schema) === key) add(schema.metadata.name ?? '')
          }),
        ]
      },
      clock,
      log,
    },
    signal,
  )
}
