/** Lessons that ship: each runs to its end on real clusters, by its commands and by its actions. */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { programs } from '../../../cluster/plan/cluster-config.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { lessonCluster, placeOf } from '../../../console/lessons-engine/lesson-cluster.ts'
import { readLesson } from '../../../console/lessons-engine/lesson.ts'
import type { Lesson } from '../../../console/lessons-engine/lesson.ts'
import { shippedLessons } from '../../../console/lessons-engine/shipped-lessons.ts'
import { requireKubectl } from '../../e2e/kubectl.ts'
import { createPlace } from '../../e2e/place.ts'
import { playLesson } from './play-lesson.ts'

const { path: kubectl, test: kubectlTest } = requireKubectl()
const lessons = shippedLessons().map(readLesson)
/** They take turns on one cluster, with the flags of all of them. */
const sharing = lessons.filter(({ ownCluster }) => !ownCluster)
const alone = lessons.filter(({ ownCluster }) => ownCluster)
const searchPath = process.env['PATH'] ?? ''
const withKubectl = [dirname(kubectl), searchPath].join(delimiter)

// A lesson takes away the right to have requests approved, which the approver then asks for.
const place = createPlace({ underprivileged: ['controller-manager'] })

/** A folder with the programs of sh that commands use, and without kubectl. */
function withoutKubectl(): string {
  const folder = join(place.root, 'tmp', 'programs')
  if (existsSync(folder)) return folder
  mkdirSync(folder)
  for (const name of ['sh', 'cat', 'cut', 'echo', 'grep', 'head', 'mktemp', 'tr']) {
    const found = searchPath
      .split(delimiter)
      .map((one) => join(one, name))
      .find(existsSync)
    if (found === undefined) throw new Error(`no ${name} in the PATH`)
    symlinkSync(found, join(folder, name))
  }
  return folder
}

/** As `up` takes them. */
function wordsFor(some: readonly Lesson[]): string[] {
  const nodes = Math.max(...some.map(({ cluster }) => cluster.nodes ?? 0))
  const settings = some.flatMap(({ cluster: { flags = {} } }) =>
    programs.flatMap((program) =>
      Object.entries(flags[program] ?? {}).map(([name, value]) => `${program}.${name}=${value}`),
    ),
  )
  return ['--nodes', String(nodes), ...settings.flatMap((one) => ['--set', one])]
}

beforeAll(() => {
  // The commands of lessons are `skiff` and kubectl as a user would start them.
  vi.stubEnv('XDG_STATE_HOME', join(place.root, 'state'))
  vi.stubEnv('HOME', join(place.root, 'home'))
  vi.stubEnv('TMPDIR', join(place.root, 'tmp'))
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await place[Symbol.asyncDispose]()
})

describe('on a running cluster', () => {
  beforeAll(async () => {
    await place.up('shared', wordsFor(sharing))
  })

  /** Plays it as `skiff lesson run --name shared` would. */
  async function play(lesson: Lesson, path: string): Promise<number> {
    const notes: string[] = []
    await using held = await lessonCluster(lesson, {
      clock: systemClock,
      signal: new AbortController().signal,
      stateRoot: place.stateRoot,
      clusterName: 'shared',
      note: (text) => void notes.push(text),
    })
    expect(notes).toEqual([])
    return await playLesson(lesson, { ...held, searchPath: path })
  }

  kubectlTest.each(sharing)('$name is done by its commands', async (lesson) => {
    expect(await play(lesson, withKubectl)).toBe(lesson.steps.length)
  })

  // What the lesson made before is gone, or it would be refused.
  test.each(sharing)('$name is done without kubectl', async (lesson) => {
    await play(lesson, withoutKubectl())
  })
})

describe.each(alone)('$name on clusters of its own', (lesson) => {
  async function play(name: string, path: string): Promise<number> {
    const cluster = await place.up(name, wordsFor([lesson]))
    const played = await playLesson(lesson, {
      cluster,
      place: placeOf(cluster, name),
      searchPath: path,
    })
    await place.cluster(name).skiff('down')
    return played
  }

  kubectlTest('is done by its commands', async () => {
    expect(await play(`${lesson.name}-typed`, withKubectl)).toBe(lesson.steps.length)
  })

  test('is done without kubectl', async () => {
    await play(`${lesson.name}-acted`, withoutKubectl())
  })
})
