/** The tarball, as `npm pack` makes it of this checkout, and empty projects that it is installed into. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { inject } from 'vitest'
import { builtOnce, onceIn } from '../e2e/built.ts'
import { run } from '../e2e/program.ts'
import type { Outcome } from '../e2e/program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const root = join(import.meta.dirname, '..', '..')

const timeoutMs = 120_000

/** The environment of a user who has nothing but this Node and npm; what programs keep goes below `home`. */
export function userEnvironment(home: string, nodeBin = process.execPath): NodeJS.ProcessEnv {
  const path = (process.env['PATH'] ?? '').split(delimiter)
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|init_cwd$|node_|vitest|kubeconfig$|xdg_)/i.test(name),
  )
  return {
    ...Object.fromEntries(inherited),
    PATH: [
      dirname(nodeBin),
      ...path.filter((one) => !one.includes(join('node_modules', '.bin'))),
    ].join(delimiter),
    HOME: home,
    USERPROFILE: home,
    NODE_DISABLE_COMPILE_CACHE: '1',
    npm_config_update_notifier: 'false',
  }
}

/** Runs a program that must succeed; gives what it printed. */
export async function succeed(
  program: string,
  words: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  const shell = process.platform === 'win32'
  const [first = '', ...rest] = [program, ...words].map((word) => (shell ? `"${word}"` : word))
  const outcome: Outcome = await run(first, rest, { ...options, shell, timeoutMs })
  const { code, stdout, stderr } = outcome
  if (code !== 0) {
    throw new Error(`${program} ${words.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`)
  }
  return stdout
}

/** Packs the folder without running its scripts; gives the tarball's path. */
export async function pack(folder: string, into: string): Promise<string> {
  mkdirSync(into, { recursive: true })
  const words = ['pack', '--silent', '--ignore-scripts', '--pack-destination', into]
  await succeed('npm', words, { cwd: folder, env: userEnvironment(into) })
  const [tarball] = readdirSync(into).filter((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error(`npm pack wrote nothing to ${into}`)
  return join(into, tarball)
}

/** The tarball of the checkout as it is; all test files of a run share it. */
export async function packedOnce(): Promise<string> {
  await builtOnce()
  const home = inject('sharedHome')
  const folder = join(home, 'packed')
  await onceIn(home, 'pack', async () => void (await pack(root, folder)))
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  return join(folder, tarball)
}

export interface Project {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** Writes a file of it. */
  write(name: string, text: string): void
  /** Runs a program in it that must succeed; gives what it printed. */
  run(program: string, words: readonly string[]): Promise<string>
}

/** An empty project of somebody else, below a home and in a folder of these names. */
export function emptyProject(nodeBin?: string, homeName = 'user', name = 'app'): Project {
  const home = join(temporaryFolder('home'), homeName)
  const folder = join(home, name)
  mkdirSync(folder, { recursive: true })
  const env = userEnvironment(home, nodeBin)
  const project: Project = {
    folder,
    env,
    write: (name, text) => writeFileSync(join(folder, name), text),
    run: async (program, words) => await succeed(program, words, { cwd: folder, env }),
  }
  project.write('package.json', '{ "name": "app", "private": true, "type": "module" }\n')
  return project
}

/** Installs the tarball with npm, from nowhere but the disk. */
export async function installWithNpm(project: Project, tarball: string): Promise<void> {
  await project.run('npm', ['install', '--offline', '--no-audit', '--save-dev', tarball])
}
