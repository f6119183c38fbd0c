/** node, component: starts, stops, kills, pauses and resumes processes. */
import type { ControlClient } from '../../../cluster/control-client.ts'
import { createFaults } from '../../../cluster/faults.ts'
import { count, described, notEmpty, object, optional, string } from '../shape.ts'
import { defineStep } from '../step.ts'

const verbs = ['kill', 'pause', 'resume', 'restart', 'stop', 'start'] as const
type Verb = (typeof verbs)[number]

const verbFields = {
  kill: described('Send SIGKILL.', optional(string)),
  pause: described('Send SIGSTOP.', optional(string)),
  resume: described('Send SIGCONT.', optional(string)),
  restart: described('Stop gracefully and start again.', optional(string)),
  stop: described('Stop gracefully.', optional(string)),
  start: described('Start again.', optional(string)),
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
    'Kill, pause, resume, restart, stop or start a component: `component: { kill: api-server }`.',
  shape: notEmpty(object(verbFields)),
  title: describe,
  run: async (params, { cluster }) => await actAll(params, cluster.control),
})

export const node = defineStep({
  name: 'node',
  summary: 'Add or remove a node; kill, pause, resume, restart, stop or start its process.',
  shape: notEmpty(
    object({
      ...verbFields,
      add: described('Add a node of this name.', optional(string)),
      simulated: described(
        'With `add`: one process with this many simulated nodes.',
        optional(count),
      ),
      remove: described('Stop the process of this node and delete its Node.', optional(string)),
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
