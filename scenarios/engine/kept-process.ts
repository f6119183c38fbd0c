/** Kept process: a command under a keeper, which ends the command together with the process that runs the scenario. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { environment } from '../../components/component-base/environment.ts'
import { clusterMarker } from '../../cluster/state/process-identity.ts'
import { builtPrograms } from '../../cluster/plan/programs.ts'
import type { KeeperReport, KeeperWork } from './keeper-protocol.ts'
import type { ScenarioCluster } from './scenario-cluster.ts'
import { shellWords } from './shell-words.ts'
import { commandLineOf } from './typescript-command.ts'

export interface ProcessOptions {
  /** A program and its arguments, or a shell command. */
  readonly command: string | readonly string[]
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd: string
  /** File for standard input. Default: empty input. */
  readonly inputFile?: string | undefined
  /** Files to append standard output and error to; can be the same file. */
  readonly outputFile: string
  readonly errorFile: string
}

/** The cluster of a process: `skiff down` finds its processes by its id. */
export interface ProcessOwner extends Pick<ScenarioCluster, 'id' | 'outside'> {
  readonly files: Pick<ScenarioCluster['files'], 'kubeconfig'>
}

export type ProcessEnd = Exclude<KeeperReport, { kind: 'started' }>

export interface KeptProcess {
  readonly outputFile: string
  /** Resolves when the command runs, or failed to start. */
  readonly started: Promise<KeeperReport>
  /** Resolves when the command and its group have ended; never rejects. */
  readonly ended: Promise<ProcessEnd>
  /** Sends SIGTERM to the group, and SIGKILL after 5 s. Resolves when the group has ended. */
  end(): Promise<void>
  /** Sends SIGKILL to the group. Resolves when the group has ended. */
  kill(): Promise<void>
}

function workOf(options: ProcessOptions, { id, files }: ProcessOwner): KeeperWork {
  const { command, env = {}, cwd } = options
  const isShell = typeof command === 'string'
  const [name = '', ...words] = isShell ? shellWords(command) : command
  const line = commandLineOf(name, words, cwd)
  const [program = '', ...args] = line.words
  return {
    command: program,
    args,
    windowsVerbatimArguments: isShell && process.platform === 'win32',
    cwd,
    environment: {
      ...environment,
      ...line.environment,
      KUBECONFIG: files.kubeconfig,
      ...env,
      // `skiff down` finds the process by this mark if the keeper was killed.
      [clusterMarker]: id,
    },
  }
}

/** Starts a command with the owner's kubeconfig in its environment. The promises report errors. */
export function startProcess(options: ProcessOptions, owner: ProcessOwner): KeptProcess {
  const files = [
    openSync(options.inputFile ?? devNull, 'r'),
    openSync(options.outputFile, 'a', 0o600),
    openSync(options.errorFile, 'a', 0o600),
  ]
  const keeper = spawn(
    process.execPath,
    ['--max-semi-space-size=1', join(builtPrograms().folder, 'keeper.js')],
    // Detached, so that Ctrl-C in a terminal reaches only this process, which then ends the keeper.
    { stdio: [...files, 'ipc'], detached: true, windowsHide: true },
  )
  for (const file of files) closeSync(file)

  const started = Promise.withResolvers<KeeperReport>()
  const ended = Promise.withResolvers<ProcessEnd>()
  const settle = (end: ProcessEnd): void => {
    started.resolve(end)
    ended.resolve(end)
  }
  keeper.on('message', (message) => {
    const report = message as KeeperReport
    if (report.kind === 'started') started.resolve(report)
    else settle(report)
  })
  keeper.once('error', (error) => settle({ kind: 'failed', code: '', message: error.message }))
  keeper.once('exit', (code, signal) => settle({ kind: 'ended', code, signal }))
  const end = owner.outside?.begin()
  void ended.promise.then(end)
  keeper.send(workOf(options, owner), () => {}) // a failed send shows in the keeper's exit

  const send = async (what: 'end' | 'kill'): Promise<void> => {
    if (keeper.connected) keeper.send(what, () => {}) // the keeper may exit at the same moment
    await ended.promise
  }
  return {
    outputFile: options.outputFile,
    started: started.promise,
    ended: ended.promise,
    end: () => send('end'),
    kill: () => send('kill'),
  }
}

export function describeEnd(end: ProcessEnd): string {
  if (end.kind === 'failed') return `could not be started: ${end.message}`
  return end.signal === null ? `ended with exit code ${end.code ?? '?'}` : `ended by ${end.signal}`
}
