/** node, component: starts, stops, kills, pauses and resumes processes. */
import { count, described, notEmpty, object, optional, string } from '../../../cluster/shape.ts'
import { partVerbs } from '../scenario-cluster.ts'
import type { PartVerb, ScenarioCluster } from '../scenario-cluster.ts'
import { defineStep } from '../step.ts'

const verbFields = {
  kill: described('Send SIGKILL.', optional(string)),
  pause: described('Send SIGSTOP.', optional(string)),
  resume: described('Send SIGCONT.', optional(string)),
  restart: described('Stop gracefully and start again.', optional(string)),
  stop: described('Stop gracefully.', optional(string)),
  start: described('Start again.', optional(string)),
}

type VerbParams = { readonly [V in PartVerb]?: string }

function describe(params: VerbParams): string {
  return partVerbs
    .filter((verb) => params[verb] !== undefined)
    .map((verb) => `${verb} ${params[verb] ?? ''}`)
    .join(', ')
}

async function actAll(params: VerbParams, cluster: ScenarioCluster): Promise<void> {
  for (const verb of partVerbs) {
    const name = params[verb]
    if (name !== undefined) await cluster.act(verb, name)
  }
}

export const component = defineStep({
  name: 'component',
  summary:
    'Kill, pause, resume, restart, stop or start a component: `component: { kill: api-server }`.',
  shape: notEmpty(object(verbFields)),
  title: describe,
  run: async (params, { cluster }) => await actAll(params, cluster),
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
    await actAll(params, cluster)
    if (remove !== undefined) await cluster.removeNode(remove)
  },
})
