/** Taking a lesson on a terminal: what the learner reads and types, on an API server in this process. */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { createClient, type Client } from '../../../components/client/client.ts'
import { createCommandFolder } from '../../../console/lessons-engine/command-folder.ts'
import { inputLines } from '../../../console/lessons-engine/input-lines.ts'
import { lessonPlace } from '../../../console/lessons-engine/lesson-place.ts'
import { createLessonSession } from '../../../console/lessons-engine/lesson-session.ts'
import { parseLesson } from '../../../console/lessons-engine/lesson.ts'
import { markdownText } from '../../../console/lessons-engine/markdown-text.ts'
import { runLesson } from '../../../console/lessons-engine/run-lesson.ts'
import type { LessonResult } from '../../../console/lessons-engine/run-lesson.ts'
import { createTourText } from '../../../console/lessons-engine/tour-text.ts'
import { processCluster } from '../../../scenarios/engine/process-cluster.ts'
import { playedProcesses } from '../../scenarios/play.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { sharedServer } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const server = sharedServer()
let client: Client
let count = 0

beforeAll(() => {
  const shown = server().credential({ user: 'viewer', groups: ['system:masters'] })
  client = createClient({
    server: `https://127.0.0.1:${server().port}`,
    ca: server().pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects.kubernetes,
  })
})
afterAll(() => client.close())
beforeEach(() => void (count += 1))

/** A lesson of a step that makes an object, and of one that asks. */
const lessonText = (): string => `title: A tour
summary: Two things.
steps:
  - heading: Make it
    text: Make **it** with \`create\`.
    command: kubectl create configmap made-${count}
    action: [{ create: { apiVersion: v1, kind: ConfigMap, metadata: { name: made-${count} } } }]
    check: { expect: { kind: ConfigMap, name: made-${count} } }
    hint: Type it.
    explanation: It is made.
    look: kubectl get configmap made-${count}
  - heading: Name it
    text: What is it?
    command: skiff why configmap made-${count} --name \${cluster}
    check: { answer: { question: Which kind?, matches: config ?map } }
    explanation: It is a ConfigMap.
`

interface Tour {
  readonly clock: FakeClock
  readonly result: Promise<LessonResult>
  readonly stop: AbortController
  /** What was written so far. */
  text(): string
  type(line: string): void
}

/** No kubectl is in its PATH. */
function begin({ does = false } = {}): Tour {
  const clock = new FakeClock()
  const stop = new AbortController()
  const folder = createCommandFolder('')
  const typed = new PassThrough()
  const lesson = parseLesson(lessonText(), 'tour.yaml')
  const session = createLessonSession(lesson, lessonPlace({ client, name: 'lab' }))
  let written = ''
  const text = createTourText({
    lesson,
    write: (more) => void (written += more),
    columns: 80,
    colors: false,
    hasInput: !does,
    program: 'npx kube-skiff',
    kubeconfig: '/clusters/lab/kubeconfig',
    has: folder.has,
  })
  text.begin()
  const input = inputLines(typed)
  const cluster = processCluster(playedProcesses(temporaryFolder('tour'), 'tour', client))
  const { signal } = stop
  const result = runLesson({ session, cluster, clock, signal, folder, text, does, input }).finally(
    () => {
      input[Symbol.dispose]()
      folder[Symbol.dispose]()
    },
  )
  result.catch(() => {}) // a test that ends it looks at it
  return { clock, stop, result, text: () => written, type: (line) => void typed.write(`${line}\n`) }
}

const shows = (tour: Tour, text: string): Promise<void> =>
  eventually(() => expect(tour.text()).toContain(text))
const make = () =>
  server().ok('POST', '/api/v1/namespaces/default/configmaps', {
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `made-${count}` } },
  })

describe('a learner', () => {
  test('reads a step, does it elsewhere, and goes on at once', async () => {
    const tour = begin()
    await shows(tour, '1/2  Make it')
    expect(tour.text()).toContain('export KUBECONFIG=/clusters/lab/kubeconfig')
    expect(tour.text()).toContain(`$ kubectl create configmap made-${count}`)
    expect(tour.text()).toContain('kubectl is not in the PATH: d does this step without it')
    await make()
    await shows(tour, '✓ Make it\n  It is made.')
    // The command line is that of the program that the learner started.
    await shows(tour, `$ npx kube-skiff why configmap made-${count} --name lab`)
    await shows(tour, 'Which kind? Type the answer.')
    tour.type('a Secret')
    await shows(tour, 'Not quite.')
    tour.type('a ConfigMap')
    expect(await tour.result).toMatchObject({
      outcome: 'done',
      steps: [
        { heading: 'Make it', outcome: 'done' },
        { heading: 'Name it', outcome: 'done' },
      ],
    })
  })

  test('lets a step be done, without kubectl', async () => {
    const tour = begin()
    await shows(tour, '1/2')
    tour.type('d')
    await shows(tour, `create ConfigMap made-${count}`)
    await shows(tour, '✓ Make it')
    tour.type('q')
    expect(await tour.result).toMatchObject({
      outcome: 'ended',
      steps: [{ outcome: 'done' }, { outcome: 'not reached' }],
    })
  })

  test('skips, and ends early', async () => {
    const tour = begin()
    await shows(tour, '1/2')
    tour.type('n')
    await shows(tour, '2/2')
    tour.type('q')
    const { outcome, steps } = await tour.result
    expect([outcome, ...steps.map((step) => step.outcome)]).toEqual([
      'ended',
      'skipped',
      'not reached',
    ])
  })

  test('sees the hint on request, and after 30 seconds', async () => {
    const tour = begin()
    await shows(tour, '1/2')
    const hint = 'Hint: Type it.'
    // The first look may take a moment.
    await eventually(() => {
      tour.type('h')
      expect(tour.text()).toContain('What the check sees:\n    expected: ConfigMap')
    })
    await settle(50)
    const before = tour.text().split(hint).length
    await tour.clock.step(29_000)
    expect(tour.text().split(hint).length).toBe(before)
    await tour.clock.step(1000)
    expect(tour.text().split(hint).length).toBe(before + 1)
    tour.type('what?')
    await eventually(() => expect(tour.text().split('n: skip').length).toBe(3))
    tour.type('q')
    await tour.result
  })

  test('interrupts, and the lesson ends with the reason', async () => {
    const tour = begin()
    await shows(tour, '1/2')
    tour.stop.abort(new Error('interrupted'))
    await expect(tour.result).rejects.toThrow('interrupted')
  })
})

describe('a demonstration', () => {
  test('performs the steps, and fails one that is not done in a minute', async () => {
    const tour = begin({ does: true })
    // The second step asks a cluster that does not exist.
    await shows(tour, '2/2')
    expect(tour.text()).toContain('✓ Make it')
    await shows(tour, 'there is no cluster "lab"')
    await settle(50)
    await tour.clock.step(60_000)
    const { outcome, steps } = await tour.result
    expect([outcome, ...steps.map((step) => step.outcome)]).toEqual(['failed', 'done', 'failed'])
    expect(steps[1]?.report).toEqual([
      'it ended with exit code 3',
      'that is another answer than expected',
    ])
  })
})

describe('Markdown on a terminal', () => {
  const columns = 34

  test('wraps paragraphs and lists, and keeps code blocks', () => {
    const text =
      'See [the docs](https://example.com/a/long/link) of **this and that**.\n\n1. one item that is long enough\n2. two\n\n```yaml\nkind: a line that is not wrapped at all\n```\n\nEnd.'
    expect(markdownText(text, { columns, colors: false })).toBe(
      '  See the docs of this and\n  that.\n\n  1. one item that is long\n     enough\n  2. two\n\n' +
        '    kind: a line that is not wrapped at all\n\n  End.\n',
    )
  })

  test('has colours for code and emphasis where the terminal has them', () => {
    const shown = markdownText('Use `get` **now**.', { columns, colors: true })
    expect(shown).toBe('  Use \u001b[36mget\u001b[0m \u001b[1mnow\u001b[0m.\n')
  })
})
