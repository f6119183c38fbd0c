/** node, component: processes come, go, die, freeze and go on. */
import type { ControlClient } from '../../../cluster/control-client.ts'
import { createFaults } from '../../../cluster/faults.ts'
import { count, notEmpty, object, optional, string } from '../shape.ts'
import { defineStep } from '../step.ts'

const verbs = ['kill', 'pause', 'resume', 'restart', 'stop', 'start'] as const
type Verb = (typeof verbs)[number]

const verbFields = {
  kill: optional(string),
  pause: optional(string),
  resume: optional(string),
  restart: optional(string),
  stop: optional(string),
  start: optional(string),
}

async function act(control: ControlClient, verb: Verb, name: string): Promise<void> {
  const faults = createFaults(control)
  switch (verb) {
    case 'kill':
      return await faults.kill(name)
    case 'pause':
      return await faults.pause(name)
    case 'resume':
      return await faults.resume(name)
    case 'restart':
      return void (await control.call('restart', { name }))
    case 'stop':
      return void (await control.call('stop-component', { name }))
    case 'start':
      return void (await control.call('start-component', { name }))
  }
}

type VerbParams = { readonly [V in Verb]?: string }

function describe(params: VerbParams): string {
  return verbs
    .filter((verb) => params[verb] !== undefined)
    .map((verb) => `${verb} ${params[verb] ?? ''}`)
    .join(', ')
}

async function actAll(params: VerbParams, control: ControlClient): Promise<void> {
  for (const verb of verbs) {
    const name = params[verb]
    if (name !== undefined) await act(control, verb, name)
  }
}

export const component = defineStep({
  name: 'component',
  summary:
    'kill, pause, resume, restart, stop or start a component: `component: { kill: api-server }`',
  shape: notEmpty(object(verbFields)),
  title: describe,
  run: async (params, { cluster }) => await actAll(params, cluster.control),
})

export const node = defineStep({
  name: 'node',
  summary: 'add or remove a node; kill, pause, resume, restart, stop or start its process',
  shape: notEmpty(
    object({
      ...verbFields,
      add: optional(string),
      /** With `add`: one process that carries this many. */
      simulated: optional(count),
      /** Ends its process and deletes its Node. */
      remove: optional(string),
    }),
  ),
  title: (params) =>
    [
      params.add === undefined ? '' : `add node ${params.add}`,
      params.remove === undefined ? '' : `remove node ${params.remove}`,
      describe(params),
    ]
      .filter((part) => part !== '')
      .join(', '),
  run: async (params, { cluster }) => {
    const { add, simulated, remove } = params
    if (add !== undefined) {
      await cluster.addNode(simulated === undefined ? { name: add } : { name: add, simulated })
    }
    await actAll(params, cluster.control)
    if (remove !== undefined) await cluster.removeNode(remove, { deleteObject: true })
  },
})
