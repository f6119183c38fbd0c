/** Workflow files and the action: they are valid, name what exists, and cover every system and Node.js in support. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { root } from './packed.ts'

interface Step {
  readonly id?: string
  readonly name?: string
  readonly uses?: string
  readonly run?: string
  readonly shell?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly 'runs-on': string
  readonly 'timeout-minutes'?: number
  readonly needs?: readonly string[]
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> }
  readonly outputs?: Readonly<Record<string, string>>
  readonly permissions?: Readonly<Record<string, string>>
  readonly defaults?: { readonly run: { readonly shell: string } }
  readonly steps: readonly Step[]
}

interface Workflow {
  readonly on: unknown
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly description: string }>>
  readonly outputs: Readonly<Record<string, { readonly value: string }>>
  readonly runs: { readonly using: string; readonly steps: readonly Step[] }
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map(
  (path) => [path, load(read(path)) as Workflow] as const,
)
const action = load(read('action.yml')) as Action
const { scripts } = JSON.parse(read('package.json')) as {
  scripts: Readonly<Record<string, string>>
}

/** Names that `${{ }}` reads: `steps.pack.outputs.tarball`. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/\$\{\{([^}]*)\}\}/g)].flatMap(([, expression = '']) =>
    [...expression.matchAll(/\b[a-z]+(?:\.[\w-]+)+/gi)].map(([name]) => name),
  )

/** What the steps of a job put out: `steps.pack.outputs.tarball`. */
const outputsOf = (steps: readonly Step[]): string[] =>
  steps.flatMap(({ id, run, uses }) => {
    if (id === undefined) return []
    if (uses === './')
      return Object.keys(action.outputs).map((name) => `steps.${id}.outputs.${name}`)
    const names = [...(run ?? '').matchAll(/echo "([\w-]+)=/g)].map(([, name]) => name)
    return names.map((name) => `steps.${id}.outputs.${name}`)
  })

const ofService = /^(?:github\.(?:token|repository|workflow|ref|action_path))$/

function expectSteps(steps: readonly Step[]): void {
  expect(steps.length).toBeGreaterThan(0)
  for (const step of steps) {
    expect([step.uses, step.run].filter((one) => one !== undefined)).toHaveLength(1)
    if (step.uses !== undefined) expect(step.uses).toMatch(/^(?:\.\/|actions\/[a-z-]+@v\d+)$/)
    if (step.run === undefined) continue
    const script = step.run.replaceAll(/\$\{\{[^}]*\}\}/g, 'x')
    expect(spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    })
    for (const [, name = ''] of step.run.matchAll(/npm run ([\w:-]+)/g)) {
      expect(Object.keys(scripts)).toContain(name)
    }
    const [file = ''] = /^\.\S+$/.exec(step.run) ?? []
    expect(existsSync(join(root, file)), file).toBe(true)
  }
}

test('there are workflows to check', () => {
  expect(workflows.map(([path]) => path.replace(/^.*[/\\]/, '')).toSorted()).toEqual([
    'ci.yml',
    'release.yml',
  ])
})

describe.each(workflows)('%s', (_, workflow) => {
  test('has jobs with few rights and an end, and steps that can run', () => {
    expect(workflow.on).toBeTruthy()
    expect(workflow.permissions).toEqual({ contents: 'read' })
    for (const job of Object.values(workflow.jobs)) {
      expect(job['runs-on']).toBeTruthy()
      expect(job['timeout-minutes']).toBeGreaterThan(0)
      expectSteps(job.steps)
      for (const name of job.needs ?? []) expect(Object.keys(workflow.jobs)).toContain(name)
    }
  })

  test('reads only what there is', () => {
    for (const job of Object.values(workflow.jobs)) {
      const matrix = job.strategy?.matrix ?? {}
      const keys = [
        ...Object.keys(matrix),
        ...(matrix['include'] ?? []).flatMap((one) => Object.keys(one as object)),
      ]
      const needed = (job.needs ?? []).flatMap((name) =>
        Object.keys(workflow.jobs[name]?.outputs ?? {}).map(
          (key) => `needs.${name}.outputs.${key}`,
        ),
      )
      // Each builder of a matrix puts out its own.
      const builders = (matrix['builder'] ?? []).flatMap((name) =>
        job.steps.flatMap(({ id }) =>
          id === undefined ? [] : [`steps.${id}.outputs.${String(name)}`],
        ),
      )
      const known = new Set([
        ...keys.map((key) => `matrix.${key}`),
        ...needed,
        ...builders,
        ...outputsOf(job.steps),
      ])
      const names = namesIn(JSON.stringify(job))
      expect(names.filter((name) => !known.has(name) && !ofService.test(name))).toEqual([])
    }
  })

  test('gives the action inputs that it has', () => {
    for (const step of Object.values(workflow.jobs).flatMap(({ steps }) => steps)) {
      if (step.uses !== './') continue
      expect(Object.keys(action.inputs)).toEqual(
        expect.arrayContaining(Object.keys(step.with ?? {})),
      )
    }
  })
})

test('the suite runs on three systems and on every Node.js in support', () => {
  const { jobs } = workflows.find(([path]) => path.endsWith('ci.yml'))?.[1] as Workflow
  const include = jobs['suite']?.strategy?.matrix['include'] as { os: string; node: number }[]
  expect(new Set(include.map(({ os }) => os))).toEqual(
    new Set(['ubuntu-latest', 'macos-latest', 'windows-latest']),
  )
  expect(new Set(include.map(({ node }) => node))).toEqual(new Set([22, 24, 26]))
})

test('jobs on several systems run their commands in the one shell that all of them have', () => {
  const { jobs } = workflows.find(([path]) => path.endsWith('ci.yml'))?.[1] as Workflow
  const several = Object.entries(jobs).filter(([, job]) => job['runs-on'].includes('matrix.os'))
  expect(several.map(([name]) => name)).toEqual(['suite', 'package'])
  for (const [, job] of several) expect(job.defaults).toEqual({ run: { shell: 'bash' } })
})

test('a release has provenance, and is published by the one job that may', () => {
  const { jobs } = workflows.find(([path]) => path.endsWith('release.yml'))?.[1] as Workflow
  const publishing = Object.entries(jobs).filter(([, job]) =>
    JSON.stringify(job).includes('npm publish'),
  )
  expect(publishing.map(([name]) => name)).toEqual(['publish'])
  expect(JSON.stringify(jobs)).toContain('npm publish --provenance')
  const mayPublish = Object.entries(jobs).filter(
    ([, job]) => job.permissions?.['id-token'] === 'write',
  )
  expect(mayPublish.map(([name]) => name)).toEqual(['publish'])
  expect(jobs['publish']?.needs).toEqual(['pack', 'test'])
})

test('the action is composite, and reads only inputs and outputs that it has', () => {
  expect(action.runs.using).toBe('composite')
  expectSteps(action.runs.steps)
  expect(action.runs.steps.every(({ shell }) => shell === 'bash')).toBe(true)
  const known = new Set([
    ...Object.keys(action.inputs).map((name) => `inputs.${name}`),
    ...outputsOf(action.runs.steps),
  ])
  const names = namesIn(JSON.stringify(action))
  expect(names.length).toBeGreaterThan(6)
  expect(names.filter((name) => !known.has(name) && !ofService.test(name))).toEqual([])
})
