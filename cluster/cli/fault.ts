/** `skiff fault ...`: breaks parts of a cluster on purpose, says how often, and heals them. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { createFaults } from '../faults.ts'
import type { Faults } from '../faults.ts'
import { checkFault } from '../lab/check-fault.ts'
import { describeFault, firedText } from '../lab/describe-fault.ts'
import { faultKinds } from '../lab/fault-shape.ts'
import type { FaultSpec, FaultStatus } from '../lab/fault-spec.ts'
import { contradictionLines } from '../lab/placed-faults.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { faultFlags, faultOfFlags, givenFaultFlags } from './fault-flags.ts'
import { chaos } from './fault-chaos.ts'
import { readDocuments } from './fault-file.ts'
import { withCluster } from './find-cluster.ts'
import { shortDuration, table } from './terminal.ts'

/** The faults in a file: one document or several, each one fault or a list of them. None of them contradicts another. */
async function faultsIn(file: string): Promise<FaultSpec[]> {
  const { where, documents } = await readDocuments(file)
  const found = documents.flatMap(({ value, lineOf }) => {
    const items: readonly unknown[] = Array.isArray(value) ? value : [value]
    const lineAt = (index: number): number => lineOf(Array.isArray(value) ? [index] : [])
    return items.map((item, index) => ({ item, place: `${where}:${lineAt(index)}` }))
  })
  const faults = found.filter(({ item }) => item !== null && item !== undefined)
  if (faults.length === 0) throw new ClusterError('usage', `${where} holds no fault`)
  const placed = faults.map(({ item, place }) => ({ spec: checkFault(item, place), place }))
  const [first, ...details] = contradictionLines(placed)
  if (first !== undefined) throw new ClusterError('usage', first, { details })
  return placed.map(({ spec }) => spec)
}

async function faultsOf(
  word: string | undefined,
  given: Parameters<typeof faultOfFlags>[1] & { readonly filename: string | undefined },
): Promise<FaultSpec[]> {
  if (given.filename === undefined) return [faultOfFlags(word, given)]
  const [other] = givenFaultFlags(given)
  if (word === undefined && other === undefined) return await faultsIn(given.filename)
  throw new ClusterError('usage', `${word ?? `--${other}`} cannot be combined with --filename`, {
    hint: 'write it into the file',
  })
}

const add = defineCommand({
  name: 'fault add',
  summary: 'Break a part of the cluster on purpose',
  description:
    `KIND is one of ${faultKinds.join(', ')}. The fault holds until it is healed, or until --times or --for end it.\n` +
    'A file has one fault, a list of them, or several documents: name, kind, times, forMs and fault, as -o json shows them.',
  arguments: [{ name: 'KIND', isOptional: true }],
  flags: defineFlags({
    ...nameFlag,
    ...faultFlags,
    filename: flag.string(
      'File with faults in YAML or JSON, instead of other flags; - reads standard input.',
    ),
    ...outputFlag,
  }),
  examples: [
    [
      'skiff fault add requests --verb create,update --resource pods --status 503 --times 3',
      'The next three writes of pods fail with 503',
    ],
    [
      'skiff fault add network --from node-1 --to api-server --cut one-way',
      'The node hears the API server, but its own requests do not arrive',
    ],
    ['skiff fault add process --part scheduler --action freeze --for 30s', 'Freeze the scheduler'],
    ['skiff fault add node --node node-1 --is memory-pressure', 'The node is short of memory'],
    ['skiff fault add -f fault.yaml', 'Declare the faults of a file'],
  ],
  run: async (context, { flags: given, args: [word] }) => {
    const specs = await faultsOf(word, given)
    return await withCluster(context, given.name, async ({ lab }) => {
      const added: FaultStatus[] = []
      for (const spec of specs) added.push(await lab.faults.add(spec))
      if (given.output === 'json') context.terminal.out(`${JSON.stringify(added)}\n`)
      else {
        for (const { name, spec, ended } of added) {
          const how = ended === undefined ? 'holds' : 'has happened'
          context.terminal.out(`fault ${name} ${how}: ${describeFault(spec)}\n`)
        }
      }
      return exitCodes.ok
    })
  },
})

function stateOf({ ended, spec }: FaultStatus): string {
  if (ended !== undefined) return { times: 'used up', time: 'over', healed: 'healed' }[ended]
  return spec.times === undefined && spec.forMs === undefined
    ? 'active'
    : `active ${endsAfter(spec)}`
}

function endsAfter({ times, forMs }: FaultSpec): string {
  const ends = [
    times === undefined ? [] : [times === 1 ? 'at most once' : `at most ${times} times`],
    forMs === undefined ? [] : [`for ${shortDuration(forMs)}`],
  ]
  return ends.flat().join(', ')
}

const list = defineCommand({
  name: 'fault list',
  summary: 'List faults, active and ended, with how often they fired',
  flags: defineFlags({ ...nameFlag, ...outputFlag }),
  examples: [['skiff fault list', 'A fault that fired 0 times has matched nothing']],
  run: async (context, { flags: given }) =>
    await withCluster(context, given.name, async ({ lab }) => {
      const faults = await lab.faults.list()
      if (given.output === 'json') context.terminal.out(`${JSON.stringify(faults)}\n`)
      else if (faults.length === 0) context.terminal.out('no faults\n')
      else {
        const rows = faults.map((one) => [
          one.name,
          stateOf(one),
          String(one.fired),
          describeFault(one.spec),
        ])
        context.terminal.out(table([['FAULT', 'STATE', 'FIRED', 'WHAT'], ...rows]))
      }
      return exitCodes.ok
    }),
})

const heal = defineCommand({
  name: 'fault heal',
  summary: 'End a fault, or all of them',
  arguments: [{ name: 'FAULT', isOptional: true }],
  flags: defineFlags({ ...nameFlag, ...outputFlag }),
  examples: [
    ['skiff fault heal', 'End all faults'],
    ['skiff fault heal network-1', 'End one'],
  ],
  run: async (context, { flags: given, args: [name] }) =>
    await withCluster(context, given.name, async ({ lab }) => {
      const healed = await lab.faults.heal(name)
      if (given.output === 'json') context.terminal.out(`${JSON.stringify(healed)}\n`)
      else if (healed.length === 0) context.terminal.out('no fault is active\n')
      else {
        for (const { name: fault, fired } of healed)
          context.terminal.out(`fault ${fault} healed: it ${firedText(fired)}\n`)
      }
      return exitCodes.ok
    }),
})

function signalCommand(
  verb: 'kill' | 'pause' | 'resume',
  words: { summary: string; example: string; effect: string; done: string },
) {
  const inflict = (faults: Faults, name: string): Promise<void> => faults[verb](name)
  return defineCommand({
    name: `fault ${verb}`,
    summary: words.summary,
    arguments: [{ name: 'COMPONENT' }],
    flags: defineFlags({ ...nameFlag }),
    examples: [[words.example, words.effect]],
    run: async (context, { flags: given, args: [name = ''] }) =>
      await withCluster(context, given.name, async ({ control }) => {
        await inflict(createFaults(control), name)
        context.terminal.out(`${name} ${words.done}\n`)
        return exitCodes.ok
      }),
  })
}

export const faultCommands = [
  add,
  list,
  heal,
  chaos,
  signalCommand('kill', {
    summary: 'Kill a component with SIGKILL; the supervisor restarts it',
    example: 'skiff fault kill api-server',
    effect: 'Test how clients and controllers recover',
    done: 'killed',
  }),
  signalCommand('pause', {
    summary: 'Pause a component with SIGSTOP: it keeps its connections but does not respond',
    example: 'skiff fault pause node-1',
    effect: 'The node becomes Unknown, although its process exists',
    done: 'paused',
  }),
  signalCommand('resume', {
    summary: 'Resume a paused component with SIGCONT',
    example: 'skiff fault resume node-1',
    effect: 'The agent renews its lease, and the node becomes Ready again',
    done: 'resumed',
  }),
]
