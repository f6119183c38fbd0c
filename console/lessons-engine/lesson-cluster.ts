/** Lesson cluster: the cluster that a lesson runs on, a new one of its own or one that runs. */
import { openCluster, startCluster } from '../../cluster/cluster.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { programs } from '../../cluster/plan/cluster-config.ts'
import { nameFlagOf } from '../../cluster/state/state-dir.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { componentStates } from './component-states.ts'
import { lessonPlace } from './lesson-place.ts'
import type { LessonPlace } from './lesson-place.ts'
import type { Lesson } from './lesson.ts'
import { deleteMade } from './made-objects.ts'
import { obstacleOf } from './obstacle.ts'

export interface LessonClusterOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly stateRoot: string
  /** Name of a running cluster; absent: the lesson gets one of its own. */
  readonly clusterName: string | undefined
  readonly note: (text: string) => void
}

/** Disposing deletes what the lesson made, or its cluster. */
export interface LessonCluster extends AsyncDisposable {
  readonly cluster: Cluster
  readonly place: LessonPlace
}

/** A cluster of this machine, as its administrator sees it. */
export function placeOf(cluster: Cluster, name: string): LessonPlace {
  const { client, control, config } = cluster
  const { caHash } = config
  return lessonPlace({ client, name, caHash, components: componentStates(control) })
}

async function ownCluster(lesson: Lesson, options: LessonClusterOptions): Promise<LessonCluster> {
  const { clock, signal, stateRoot } = options
  const { nodes, simulatedNodes, dialect, flags } = lesson.cluster
  // A file may have any name, a cluster may not.
  const label = lesson.name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replaceAll(/^-|-$/g, '')
  const name = label === '' ? 'lesson' : `lesson-${label}`
  const cluster = await startCluster({
    name,
    stateRoot,
    nodes,
    simulatedNodes,
    dialect,
    extraFlags: flags,
    lifetime: 'owner',
    clock,
    signal,
  })
  return {
    cluster,
    place: placeOf(cluster, name),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

/** Flags that the lesson wants and the cluster does not have, as `--set` takes them. */
function missingFlags({ cluster: { flags = {} } }: Lesson, { config }: Cluster): string[] {
  return programs.flatMap((program) =>
    Object.entries(flags[program] ?? {})
      .filter(([name, value]) => config.extraFlags?.[program]?.[name] !== value)
      .map(([name, value]) => `${program}.${name}=${value}`),
  )
}

const errorKinds = {
  dialect: 'usage',
  nodes: 'usage',
  present: 'already-exists',
} as const

function hintFor(kind: keyof typeof errorKinds, name: string): string {
  switch (kind) {
    case 'dialect':
      return 'omit --name for a cluster of its own'
    case 'nodes':
      return `add one with: skiff node add${nameFlagOf(name)}; or omit --name for a cluster of its own`
    case 'present':
      return 'delete them, or omit --name for a cluster of its own'
  }
}

async function checkSuits(
  lesson: Lesson,
  { place, name }: { place: LessonPlace; name: string },
): Promise<void> {
  const obstacle = await obstacleOf(lesson, place)
  if (obstacle === undefined) return
  const { kind, message, details = [] } = obstacle
  throw new ClusterError(errorKinds[kind], message, { details, hint: hintFor(kind, name) })
}

async function runningCluster(
  lesson: Lesson,
  { name, clock, stateRoot, note }: LessonClusterOptions & { readonly name: string },
): Promise<LessonCluster> {
  if (lesson.ownCluster) {
    throw new ClusterError('usage', `lesson "${lesson.name}" changes what a cluster needs`, {
      hint: 'omit --name: it runs on a cluster of its own',
    })
  }
  const cluster = await openCluster({ name, stateRoot, clock })
  const place = placeOf(cluster, name)
  try {
    await checkSuits(lesson, { place, name })
  } catch (error) {
    cluster.disconnect()
    throw error
  }
  const missing = missingFlags(lesson, cluster)
  if (missing.length > 0) {
    note(`the cluster lacks flags of the lesson, so steps may take longer: ${missing.join(', ')}`)
  }
  return {
    cluster,
    place,
    [Symbol.asyncDispose]: async () => {
      try {
        await deleteMade(lesson.makes, { place, control: cluster.control })
      } finally {
        cluster.disconnect()
      }
    },
  }
}

export async function lessonCluster(
  lesson: Lesson,
  options: LessonClusterOptions,
): Promise<LessonCluster> {
  const { clusterName: name } = options
  return name === undefined
    ? await ownCluster(lesson, options)
    : await runningCluster(lesson, { ...options, name })
}
