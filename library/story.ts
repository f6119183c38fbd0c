/**
 * storyOf: what happened in a namespace, as text: changes of objects with their field managers, events, denied requests, and
 * warnings of the components, in order of time. It is read after the fact: the API server keeps all of it anyway, so that a
 * namespace whose story no one reads costs nothing.
 */
import type {
  ChangesExplanation,
  DeniedExplanations,
  NamespaceChange,
} from '../components/api/explanations.ts'
import { messageOf } from '../components/component-base/log.ts'
import { brief } from '../components/machinery/objects/differences.ts'
import type { ClusterForm } from './cluster-form.ts'
import type { Component, ObjectClient } from './types.ts'

const mostLines = 60
const mostFirstLines = 15
const mostLineLength = 240
const mostChanges = 500
const mostDenied = 100
const mostWarnings = 20

export interface StorySource {
  /** Of the administrator. */
  readonly client: Pick<ObjectClient, 'request'>
  readonly form: Pick<ClusterForm, 'logs' | 'fault'>
}

interface Moment {
  readonly atMs: number
  readonly text: string
}

const components: readonly Component[] = [
  'api-server',
  'controller-manager',
  'scheduler',
  'node-agent',
]

/** Text of others on one line: a control character would change what a terminal shows. */
const plain = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  brief(text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' '), mostLineLength)

function changeText(change: NamespaceChange): string {
  const { type, kind, name, managers, event, fields = [], moreFields = 0 } = change
  if (event !== undefined) {
    const times = event.count > 1 ? ` (${event.count} times)` : ''
    return `${event.type} ${event.reason} ${event.regarding}: ${event.message}${times}`
  }
  const by = managers.length === 0 ? '' : ` by ${managers.join(', ')}`
  const what = `${kind}/${name}`
  if (type === 'existing') return `${what} was there, written${by}`
  const shown = fields.map(({ path, before, after }) => `${path}: ${before} -> ${after}`)
  const more = moreFields > 0 ? [`and ${moreFields} more fields`] : []
  const detail = shown.length === 0 ? '' : `: ${[...shown, ...more].join('; ')}`
  return `${what} ${type}${by}${detail}`
}

/** Changes as they are kept; a failure to read them is part of the story, and does not hide the rest. */
async function changesIn(
  { client }: StorySource,
  namespace: string,
): Promise<ChangesExplanation | { readonly why: string }> {
  const path = `/explain/changes?namespace=${encodeURIComponent(namespace)}&limit=${mostChanges}`
  try {
    return (await client.request({ method: 'GET', path })) as ChangesExplanation
  } catch (error) {
    return { why: messageOf(error) }
  }
}

type Denied = DeniedExplanations['items'][number]

const userOf = ({ explanation, admission }: Denied): string | undefined =>
  explanation?.attributes.user.name ?? admission?.user

/** Requests for the namespace, and of its users: a test's user has its name, and service accounts are in it. */
const isAbout =
  (namespace: string) =>
  (request: Denied): boolean => {
    const user = userOf(request)
    return (
      request.explanation?.attributes.namespace === namespace ||
      `${request.path}/`.includes(`/namespaces/${namespace}/`) ||
      user === namespace ||
      user?.startsWith(`system:serviceaccount:${namespace}:`) === true
    )
  }

async function deniedIn({ client }: StorySource, namespace: string): Promise<Moment[]> {
  const path = `/explain/denied?limit=${mostDenied}`
  const { items } = (await client.request({ method: 'GET', path })) as DeniedExplanations
  return items.filter(isAbout(namespace)).map((request) => {
    const { status, method, count, explanation, reason } = request
    const user = userOf(request)
    const by = user === undefined ? '' : ` by ${user}`
    const times = count > 1 ? ` (${count} times)` : ''
    const why = explanation?.message ?? reason
    const text = `${status} ${method} ${request.path}${by}${times}: ${why}`
    return { atMs: Date.parse(request.time), text }
  })
}

/** Lines of levels warn and error. */
async function warningsOf(source: StorySource, component: Component): Promise<Moment[]> {
  const lines = await source.form.logs(component)
  return lines.flatMap((line) => {
    const { time, level, message, component: _, ...fields } = fieldsOf(line)
    if (level !== 'warn' && level !== 'error') return []
    const shown = Object.entries(fields).map(([name, value]) => `${name}=${brief(value, 80)}`)
    const text = [`${component} ${level}: ${String(message)}`, ...shown].join(' ')
    return [{ atMs: Date.parse(String(time)), text }]
  })
}

function fieldsOf(line: string): Record<string, unknown> {
  try {
    return (JSON.parse(line) ?? {}) as Record<string, unknown>
  } catch {
    // What is no line of our log, such as a warning of Node's.
    return {}
  }
}

/** What could be read; what could not is left out: the story explains a failure, and must not fail itself. */
async function known(parts: readonly Promise<Moment[]>[]): Promise<Moment[]> {
  const settled = await Promise.allSettled(parts)
  return settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
}

function linesOf(moments: readonly Moment[], startMs: number): string[] {
  const lines = moments.map(({ atMs, text }) => {
    const seconds = Math.max(0, (atMs - startMs) / 1000).toFixed(2)
    return `  +${seconds} s  ${plain(text)}`
  })
  if (lines.length <= mostLines) return lines
  const rest = mostLines - mostFirstLines
  const between = `  ... ${lines.length - mostLines} lines left out ...`
  return [...lines.slice(0, mostFirstLines), between, ...lines.slice(-rest)]
}

/** Never rejects. At most 60 lines, of which the first and the last are shown, without a newline at the end. */
export async function storyOf(
  source: StorySource,
  of: { readonly namespace: string },
): Promise<string> {
  const told = await changesOf(source, of)
  const { aborted: hasFault, reason } = source.form.fault()
  return hasFault ? `${plain(messageOf(reason))}\n${told}` : told
}

async function changesOf(
  source: StorySource,
  { namespace }: { readonly namespace: string },
): Promise<string> {
  const found = await changesIn(source, namespace)
  if ('why' in found) return `The story of namespace ${namespace} cannot be read: ${found.why}`
  const changes = found.items.map((one) => ({ atMs: Date.parse(one.time), text: changeText(one) }))
  const startMs = changes[0]?.atMs ?? 0
  const [denied, warnings] = await Promise.all([
    known([deniedIn(source, namespace)]),
    known(components.map((component) => warningsOf(source, component))),
  ])
  const newest = warnings.toSorted((one, other) => one.atMs - other.atMs).slice(-mostWarnings)
  const others = [...denied, ...newest].filter(({ atMs }) => atMs >= startMs)
  const moments = [...changes, ...others].toSorted((one, other) => one.atMs - other.atMs)
  const reach = {
    creation: '',
    history: '; older changes are forgotten: what was deleted before is missing',
    limit: `; the last ${mostChanges} changes`,
  }[found.reaches]
  if (moments.length === 0)
    return `Nothing is known of namespace ${namespace}: it is empty, and older changes are forgotten`
  const since = new Date(startMs).toISOString()
  return [
    `What happened in namespace ${namespace} (since ${since}${reach}):`,
    ...linesOf(moments, startMs),
  ].join('\n')
}
