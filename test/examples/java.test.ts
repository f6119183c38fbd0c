/** The Java example: its suite passes with the built package, and leaves nothing, not even when the JVM is killed. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import { listClusters, statePaths } from '../../cluster/state/state-dir.ts'
import { readClusterConfig } from '../../cluster/plan/cluster-config.ts'
import { processesMarked } from '../../cluster/state/process-identity.ts'
import { builtOnce } from '../e2e/built.ts'
import { eventually } from '../support/eventually.ts'
import { mavenTimeoutMs, requireMaven, startMaven } from '../support/maven.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '..', '..')
const example = join(root, 'examples', 'java-operator')
const test = requireMaven(example)

beforeAll(builtOnce)

interface Installed {
  readonly project: string
  readonly stateRoot: string
  readonly environment: NodeJS.ProcessEnv
}

/** The example as `npm install` leaves it, with folders of its own for all that it writes. */
function installed(): Installed {
  const place = temporaryFolder('java')
  const project = join(place, 'java-operator')
  const bin = join(project, 'node_modules', '.bin')
  cpSync(example, project, {
    recursive: true,
    filter: (path) => !/[\\/](?:target|node_modules)$/.test(path),
  })
  mkdirSync(bin, { recursive: true })
  symlinkSync(root, join(project, 'node_modules', 'kube-skiff'))
  symlinkSync(join('..', 'kube-skiff', 'bin', 'skiff.js'), join(bin, 'kube-skiff'))
  const [tmp, state, home] = ['tmp', 'state', 'home'].map((name) => join(place, name))
  for (const folder of [tmp, state, home]) mkdirSync(folder ?? '')
  return {
    project,
    stateRoot: join(state ?? '', 'skiff'),
    environment: {
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
      HOME: home,
      TMPDIR: tmp,
      XDG_STATE_HOME: state,
      JAVA_TOOL_OPTIONS: `-Djava.io.tmpdir=${tmp}`,
    },
  }
}

/** What each class's report counts: run, failed and skipped tests. */
function counts(project: string): string[] {
  const reports = join(project, 'target', 'surefire-reports')
  return readdirSync(reports)
    .filter((name) => name.endsWith('.txt'))
    .flatMap(
      (name) => readFileSync(join(reports, name), 'utf8').match(/^Tests run: .*?(?=, Time)/m) ?? [],
    )
}

test(
  'the suite of a fabric8 operator passes, and its cluster is gone',
  async () => {
    const { project, stateRoot, environment } = installed()
    const { code, output } = await startMaven(project, environment).ended
    expect(code, output).toBe(0)
    expect(counts(project)).toEqual(['Tests run: 7, Failures: 0, Errors: 0, Skipped: 0'])
    expect(listClusters(stateRoot)).toEqual([])
    expect(readFileSync(join(project, 'target', 'skiff.log'), 'utf8')).toContain('node-1')
  },
  mavenTimeoutMs,
)

test(
  'when the JVM is killed, its cluster goes with all of its processes',
  async () => {
    const { project, stateRoot, environment } = installed()
    const { ended } = startMaven(project, environment)
    const { jvm, id } = await eventually(() => {
      const [name = ''] = listClusters(stateRoot)
      const config = readClusterConfig(statePaths(stateRoot, name))
      if (config === undefined) throw new Error('no cluster has been planned')
      return { jvm: Number(name.replace('java-', '')), id: config.id }
    }, mavenTimeoutMs / 2)
    await eventually(() => expect(processesMarked(id)).not.toEqual([]))
    process.kill(jvm, 'SIGKILL')
    expect((await ended).code).not.toBe(0)
    await eventually(() => {
      expect(processesMarked(id)).toEqual([])
      expect(listClusters(stateRoot)).toEqual([])
    })
    expect(existsSync(join(project, 'target', 'skiff.log'))).toBe(true)
  },
  mavenTimeoutMs,
)
