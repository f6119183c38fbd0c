/** Stock kubectl: which ones are on this machine, and running one against a cluster. */
import { copyFileSync, existsSync, readdirSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'vitest'
import type { PlacedCluster } from './place.ts'
import { run } from './program.ts'
import type { Outcome } from './program.ts'
import { eventually } from '../support/eventually.ts'

/** A command line as it would be typed; a substitution is always one word. */
export type CommandLine = [strings: TemplateStringsArray, ...values: (string | number)[]]

export interface Kubectl {
  /** Runs a command that must succeed; its standard output, without the newline at the end. */
  ok(...line: CommandLine): Promise<string>
  /** As `ok`, parsed as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into objects of every kind
  json(...line: CommandLine): Promise<any>
  /** Runs a command that must fail; how it ended. */
  fails(...line: CommandLine): Promise<Outcome>
  /** Runs a command, whatever comes of it. */
  try(...line: CommandLine): Promise<Outcome>
  /** The same program, with something on the standard input of its commands. */
  withInput(input: string): Kubectl
  /** The same program, in another namespace. */
  inNamespace(namespace: string): Kubectl
  readonly path: string
  readonly env: NodeJS.ProcessEnv
}

function wordsOf([strings, ...values]: CommandLine): string[] {
  const words: string[] = []
  let isOpen = false
  strings.forEach((text, index) => {
    const parts = text.split(/\s+/)
    parts.forEach((part, at) => {
      if (at > 0) isOpen = false
      if (part === '') return
      if (isOpen) words.push(`${words.pop() ?? ''}${part}`)
      else words.push(part)
      isOpen = true
    })
    if (index < values.length) {
      const value = String(values[index])
      if (isOpen) words.push(`${words.pop() ?? ''}${value}`)
      else words.push(value)
      isOpen = true
    }
  })
  return words
}

function executable(folder: string, name: string): string[] {
  const path = join(folder, name)
  return existsSync(path) ? [path] : []
}

/** kubectl as the PATH has it. */
function kubectlInPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => executable(folder, 'kubectl'))[0]
}

/** Every kubectl: the one in the PATH, `kubectl.1.*` beside it, and those that SKIFF_TEST_KUBECTLS lists. */
export function findKubectls(): string[] {
  const first = kubectlInPath()
  const listed = (process.env['SKIFF_TEST_KUBECTLS'] ?? '').split(':').filter((path) => path !== '')
  if (first === undefined) return listed
  const folder = dirname(realpathSync(first))
  const beside = readdirSync(folder).filter((name) => /^kubectl\.1\.\d+$/.test(name))
  return [...new Set([first, ...listed, ...beside.toSorted().map((name) => join(folder, name))])]
}

/** Of all that were found the last of each minor release, as the programs themselves name it. */
export async function oneKubectlPerRelease(): Promise<string[]> {
  const byRelease = new Map<string, string>()
  const asked = findKubectls().map(async (path) => {
    const { stdout } = await run(path, ['version', '--client', '-o', 'json'], { timeoutMs: 90_000 })
    const { minor } = (JSON.parse(stdout) as { clientVersion: { minor: string } }).clientVersion
    return { path, release: parseInt(minor, 10) }
  })
  const found = await Promise.all(asked)
  for (const { path, release } of found) byRelease.set(String(release), path)
  return [...byRelease.values()].toSorted()
}

/**
 * The kubectl that most tests use: the first of all. Without any, one skipped test says so and standard error too, and
 * the tests that need it are skipped.
 */
export function requireKubectl(): { path: string; test: typeof test | typeof test.skip } {
  const [path] = findKubectls()
  if (path !== undefined) return { path, test }
  const message =
    'NOT TESTED with kubectl: there is none in the PATH and none in SKIFF_TEST_KUBECTLS'
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return { path: 'kubectl', test: test.skip }
}

/**
 * That program as administrator of the cluster. Its configuration is a copy, named after `namespace`, so that commands
 * that change it disturb nobody; the namespace is made unless it is there.
 */
export async function kubectlFor(
  cluster: Pick<PlacedCluster, 'home' | 'kubeconfig'>,
  options: { path: string; namespace: string; hasControllers?: boolean },
): Promise<Kubectl> {
  const { path, namespace, hasControllers = true } = options
  const kubeconfig = join(cluster.home, `${namespace}.kubeconfig`)
  copyFileSync(cluster.kubeconfig, kubeconfig)
  const kubectl = create({
    path,
    // It runs for too short a time to be worth collecting garbage often.
    env: { GOGC: '400', ...process.env, HOME: cluster.home, KUBECONFIG: kubeconfig },
  })
  await kubectl.try`create namespace ${namespace}`
  // Pods need the account. A controller manager that was replaced meanwhile makes it when it leads.
  if (hasControllers)
    await eventually(() => kubectl.ok`get serviceaccount default --namespace=${namespace}`)
  await kubectl.ok`config set-context --current --namespace=${namespace}`
  return kubectl
}

function create(options: {
  path: string
  env: NodeJS.ProcessEnv
  input?: string
  prefix?: readonly string[]
}): Kubectl {
  const { path, env, input, prefix = [] } = options
  const start = async (...line: CommandLine): Promise<Outcome & { command: string }> => {
    const words = [...prefix, ...wordsOf(line)]
    const outcome = await run(path, words, {
      env,
      timeoutMs: 90_000,
      ...(input === undefined ? {} : { input }),
    })
    return { ...outcome, command: `${path} ${words.join(' ')}` }
  }
  const ok: Kubectl['ok'] = async (...line) => {
    const { code, stdout, stderr, command } = await start(...line)
    if (code !== 0) throw new Error(`${command}\nended with ${code}:\n${stdout}\n${stderr}`)
    return stdout.replace(/\n$/, '')
  }
  return {
    path,
    env,
    ok,
    json: async (...line) => JSON.parse(await ok(...line)) as unknown,
    try: start,
    async fails(...line) {
      const outcome = await start(...line)
      if (outcome.code === 0) throw new Error(`${outcome.command}\nsucceeded:\n${outcome.stdout}`)
      return outcome
    },
    withInput: (text) => create({ ...options, input: text }),
    inNamespace: (namespace) => create({ ...options, prefix: ['--namespace', namespace] }),
  }
}

/** The cells of a table as kubectl prints it: columns are set apart by three blanks or where the header has them. */
export function tableOf(text: string): Record<string, string>[] {
  const [header = '', ...lines] = text.split('\n')
  const starts = [...header.matchAll(/\S+(?: \S+)*/g)].map((match) => ({
    name: match[0],
    at: match.index,
  }))
  return lines
    .filter((line) => line !== '')
    .map((line) =>
      Object.fromEntries(
        starts.map(({ name, at }, index) => [name, line.slice(at, starts[index + 1]?.at).trim()]),
      ),
    )
}
