/** Scripts: what the folder of `skiff envtest` holds, as text: a program of each name that envtest starts. Pure. */
import { shellWord } from '../cluster/shell-word.ts'
import { markerFile } from './find-kubectl.ts'
import { parentVariable } from './parent.ts'

export interface ScriptOptions {
  /** The Node that runs the programs; a script names it, since the PATH of a test may hold an older one, or none. */
  readonly node: string
  /** Folder of the bundles. */
  readonly programs: string
  /** Where Node keeps compiled code between runs. */
  readonly compileCache: string
  readonly withControllers: boolean
}

export interface Script {
  readonly name: string
  readonly text: string
  readonly mode: number
}

interface Program {
  readonly name: string
  readonly bundle: string
  readonly nodeOptions: readonly string[]
  readonly args: readonly string[]
}

function programs({ withControllers }: ScriptOptions, nodeOptions: readonly string[]): Program[] {
  const args = withControllers ? ['--with-controllers'] : []
  return [
    { name: 'kube-apiserver', bundle: 'envtest-kube-apiserver', nodeOptions, args },
    { name: 'etcd', bundle: 'envtest-etcd', nodeOptions: [], args: [] },
    { name: 'kubectl', bundle: 'envtest-kubectl', nodeOptions: [], args: [] },
  ]
}

function shellScript(program: Program, options: ScriptOptions): string {
  const { name, bundle, nodeOptions, args } = program
  const words = [...nodeOptions, `${options.programs}/${bundle}.js`, ...args].map(shellWord)
  return [
    '#!/bin/sh',
    '# Written by `kube-skiff envtest`.',
    `node=${shellWord(options.node)}`,
    `if [ ! -x "$node" ]; then`,
    `  echo "${name}: $node is gone: run kube-skiff envtest again" >&2`,
    '  exit 1',
    'fi',
    `${parentVariable}=$PPID`,
    `NODE_COMPILE_CACHE=${shellWord(options.compileCache)}`,
    `export ${parentVariable} NODE_COMPILE_CACHE`,
    `exec "$node" ${words.join(' ')} "$@"`,
    '',
  ].join('\n')
}

/** A word of a batch file, where a percent sign begins a variable. */
function batchQuoted(word: string): string {
  return `"${word.replaceAll('%', '%%')}"`
}

function batchScript(program: Program, options: ScriptOptions): string {
  const { bundle, nodeOptions, args } = program
  const file = `${options.programs}\\${bundle}.js`
  const words = [options.node, ...nodeOptions, file, ...args].map(batchQuoted)
  return [
    '@echo off',
    'rem Written by `kube-skiff envtest`.',
    `set ${batchQuoted(`NODE_COMPILE_CACHE=${options.compileCache}`)}`,
    `${words.join(' ')} %*`,
    '',
  ].join('\r\n')
}

/** The files of the folder. On Windows the system finds `etcd.cmd` where `etcd` is asked for. */
export function scriptsOf(
  options: ScriptOptions,
  { platform, nodeOptions }: { platform: NodeJS.Platform; nodeOptions: readonly string[] },
): Script[] {
  const { withControllers } = options
  const marker = { name: markerFile, text: `${JSON.stringify({ withControllers })}\n`, mode: 0o644 }
  return [
    marker,
    ...programs(options, nodeOptions).map((program) =>
      platform === 'win32'
        ? { name: `${program.name}.cmd`, text: batchScript(program, options), mode: 0o644 }
        : { name: program.name, text: shellScript(program, options), mode: 0o755 },
    ),
  ]
}
