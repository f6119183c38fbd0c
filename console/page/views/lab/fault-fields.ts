/** fault-fields: the fields of the form for each kind of fault, and the fault that filled ones make. Pure; the console checks it. */
import type {
  CertificateFault,
  FaultKind,
  NetworkFault,
  NodeFault,
  ProcessFault,
} from '../../../../cluster/lab/fault-spec.ts'

export interface FaultField {
  /** In the FaultSpec, as errors name it: `fault.match.verbs`. */
  readonly path: string
  readonly label: string
  /** `list`: texts with commas between them. `part`: the name of a component or node. */
  readonly is: 'text' | 'list' | 'number' | 'part' | 'choice'
  readonly choices?: readonly string[]
}

/** What a kind does: one of several, each with fields of its own. */
export interface FaultAction {
  readonly label: string
  readonly fields: readonly FaultField[]
  /** What it sets beside its fields. */
  readonly sets?: Readonly<Record<string, unknown>>
}

export interface FaultForm {
  readonly fields: readonly FaultField[]
  readonly actions: readonly FaultAction[]
  /** Further ends than a time: `times`, and `chance` with `seed`. */
  readonly ends: readonly ('times' | 'chance')[]
}

export type FaultValues = Readonly<Record<string, string>>

/** A record, so that none is forgotten. */
const keysOf = <K extends string>(keys: Readonly<Record<K, true>>): readonly string[] =>
  Object.keys(keys)

const field = (path: string, label: string, is: FaultField['is']): FaultField => ({
  path: `fault.${path}`,
  label,
  is,
})
const choice = (path: string, label: string, choices: readonly string[]): FaultField => ({
  ...field(path, label, 'choice'),
  choices,
})
const action = (label: string, ...fields: FaultField[]): FaultAction => ({ label, fields })
const setting = (label: string, path: string, value: unknown): FaultAction => ({
  label,
  fields: [],
  sets: { [`fault.${path}`]: value },
})
const none: readonly FaultAction[] = [{ label: '', fields: [] }]

export const faultForms: Readonly<Record<FaultKind, FaultForm>> = {
  requests: {
    fields: [
      field('match.verbs', 'Verbs', 'list'),
      field('match.resources', 'Resources', 'list'),
      field('match.namespaces', 'Namespaces', 'list'),
      field('match.names', 'Names', 'list'),
      field('match.users', 'Users', 'list'),
      field('match.groups', 'Groups', 'list'),
      field('match.userAgents', 'User agents', 'list'),
    ],
    actions: [
      action(
        'answer with a status',
        {
          ...field('action.status.code', 'Status code', 'number'),
          choices: ['503', '500', '504', '429', '409', '410'],
        },
        field('action.status.retryAfterSeconds', 'Retry-After (s)', 'number'),
      ),
      action('delay', field('action.delayMs', 'Delay (ms)', 'number')),
      action('cut the connection', choice('action.cut', 'Cut', ['before', 'during', 'after'])),
      action('show an old state', field('action.staleMs', 'Age of the state (ms)', 'number')),
      action('answer slowly', field('action.bytesPerSecond', 'Bytes per second', 'number')),
      action(
        'break events of watches',
        choice('action.watch.events', 'Events', ['drop', 'expire', 'end', 'repeat']),
      ),
      action('delay events of watches', field('action.watch.delayMs', 'Delay (ms)', 'number')),
      setting('withhold bookmarks', 'action.watch.bookmarks', 'withhold'),
    ],
    ends: ['times', 'chance'],
  },
  store: {
    fields: [],
    actions: [
      setting('the disk is full', 'full', true),
      setting('writes fail', 'fail', true),
      action('writes are slow', field('delayMs', 'Delay (ms)', 'number')),
    ],
    ends: ['times', 'chance'],
  },
  network: {
    fields: [
      field('from', 'From', 'part'),
      field('to', 'To', 'part'),
      choice(
        'direction',
        'Direction',
        keysOf<NonNullable<NetworkFault['direction']>>({ both: true, 'one-way': true }),
      ),
    ],
    actions: [
      setting('cut', 'action', 'cut'),
      setting('half-open', 'action', 'half-open'),
      action(
        'delay',
        field('action.delayMs', 'Delay (ms)', 'number'),
        field('action.jitterMs', 'Jitter (ms)', 'number'),
      ),
      action('lose packets', field('action.loss', 'Part that is lost, up to 1', 'number')),
      action('slow link', field('action.bytesPerSecond', 'Bytes per second', 'number')),
    ],
    ends: ['times'],
  },
  process: {
    fields: [
      field('part', 'Component or node', 'part'),
      choice(
        'action',
        'Action',
        keysOf<ProcessFault['action']>({
          freeze: true,
          kill: true,
          starve: true,
          'lose-lease': true,
        }),
      ),
    ],
    actions: none,
    ends: [],
  },
  clock: {
    fields: [
      field('part', 'Component or node', 'part'),
      field('aheadMs', 'Ahead (ms; negative: behind)', 'number'),
    ],
    actions: none,
    ends: [],
  },
  certificate: {
    fields: [
      field('part', 'Component or node', 'part'),
      choice(
        'is',
        'Certificate',
        keysOf<CertificateFault['is']>({
          expired: true,
          'not-yet-valid': true,
          'of-another-authority': true,
        }),
      ),
    ],
    actions: none,
    ends: [],
  },
  node: {
    fields: [
      field('node', 'Node', 'part'),
      choice(
        'is',
        'Trouble',
        keysOf<NodeFault['is']>({
          'memory-pressure': true,
          'disk-pressure': true,
          'pid-pressure': true,
          'runtime-down': true,
          rebooted: true,
          'disk-lost': true,
        }),
      ),
    ],
    actions: none,
    ends: [],
  },
}

export const faultKindNames = Object.keys(faultForms) as FaultKind[]

const ends: readonly FaultField[] = [
  { path: 'name', label: 'Name', is: 'text' },
  { path: 'forMs', label: "Ends after (ms of the cluster's time)", is: 'number' },
]
const times: FaultField = { path: 'times', label: 'Ends after times', is: 'number' }
const chances: readonly FaultField[] = [
  { path: 'chance', label: 'Chance, up to 1', is: 'number' },
  { path: 'seed', label: 'Seed', is: 'number' },
]

/** All fields of a kind and its action, by their label. */
export function fieldsOf(kind: FaultKind, label: string): readonly FaultField[] {
  const form = faultForms[kind]
  return [
    ...form.fields,
    ...(form.actions.find((one) => one.label === label)?.fields ?? []),
    ...ends,
    ...(form.ends.includes('times') ? [times] : []),
    ...(form.ends.includes('chance') ? chances : []),
  ]
}

/** The value as the FaultSpec has it. What is no number stays a text, which the check names. */
function valueOf({ is }: FaultField, text: string): unknown {
  if (is === 'list') return text.split(',').flatMap((one) => one.trim() || [])
  if (is !== 'number') return text
  const number = Number(text)
  return Number.isNaN(number) ? text : number
}

type Tree = { [key: string]: unknown }

function put(tree: Tree, path: string, value: unknown): void {
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  let at = tree
  for (const key of keys) at = (at[key] ??= {}) as Tree
  at[last] = value
}

/** `values` by path; empty ones are left out. */
export function faultOf(kind: FaultKind, label: string, values: FaultValues): Tree {
  const spec: Tree = { kind, fault: kind === 'requests' ? { match: {}, action: {} } : {} }
  const sets = faultForms[kind].actions.find((one) => one.label === label)?.sets ?? {}
  for (const [path, value] of Object.entries(sets)) put(spec, path, value)
  for (const one of fieldsOf(kind, label)) {
    const text = (values[one.path] ?? one.choices?.[0] ?? '').trim()
    if (text !== '') put(spec, one.path, valueOf(one, text))
  }
  return spec
}
