/** The command line: finds the command, runs it, and turns an error into a message, a hint and an exit code. */
import { systemClock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { environment } from '../../components/component-base/environment.ts'
import { ClusterError } from '../cluster-error.ts'
import { stateRoot } from '../state/state-dir.ts'
import { explainSystemError } from '../system-error.ts'
import { groupHelp, runCommand, unknownCommand } from './command.ts'
import type { CommandContext, CommandEntry } from './command.ts'
import { describeExitCodes, exitCodes } from './exit-codes.ts'
import { asTyped, processTerminal, programName, styled } from './terminal.ts'

function overview(entries: readonly CommandEntry[]): string {
  const width = Math.max(...entries.map((entry) => entry.name.length))
  const lines = entries.map((entry) => `  ${entry.name.padEnd(width)}  ${entry.summary}\n`).join('')
  return (
    'Runs a Kubernetes-style control plane on this machine: real processes, real TLS, real joins.\n\n' +
    `Usage:\n  skiff COMMAND [flags]\n\nCommands:\n${lines}\n` +
    'Examples:\n  # Start a cluster with three nodes\n  skiff up\n\n' +
    '  # Show its components\n  skiff status\n\n  # Delete it\n  skiff down\n\n' +
    `Exit codes:\n${describeExitCodes()}\nFor help on a command: skiff COMMAND --help\n`
  )
}

function reportError(failure: unknown, { terminal, program }: CommandContext): number {
  const error = explainSystemError(failure)
  const label = styled('error:', 'red', terminal.errColors)
  const isKnown = error instanceof ClusterError
  // Further lines of a message, such as a parser's excerpt, are printed as details.
  const [message = '', ...rest] = (isKnown ? error.message : messageOf(error)).split('\n')
  terminal.err(`${label} ${asTyped(message, program)}\n`)
  for (const line of [...rest, ...(isKnown ? error.details : [])])
    terminal.err(`  ${styled('|', 'dim', terminal.errColors)} ${line}\n`)
  if (isKnown && error.hint !== undefined) {
    terminal.err(`hint: ${asTyped(error.hint, program)}\n`)
  }
  return isKnown ? exitCodes[error.kind] : exitCodes.failed
}

async function dispatch(
  entries: readonly CommandEntry[],
  words: readonly string[],
  context: CommandContext,
): Promise<number> {
  if (words[0] === 'help' && words.length > 1) {
    return await dispatch(entries, [...words.slice(1), '--help'], context)
  }
  const [first, second] = words
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    context.terminal.out(asTyped(overview(entries), context.program))
    return first === undefined ? exitCodes.usage : exitCodes.ok
  }
  const word = first === '--version' ? 'version' : first
  const entry = entries.find((one) => one.name === word)
  if (entry === undefined)
    throw unknownCommand(
      word,
      entries.map((one) => one.name),
    )
  const commands = await entry.load()
  const command = commands.find((one) => one.name === `${entry.name} ${second}`)
  if (command !== undefined) return await runCommand(command, words.slice(2), context)
  const [plain] = commands
  if (plain !== undefined && plain.name === entry.name) {
    return await runCommand(plain, words.slice(1), context)
  }
  if (second === undefined || second === '--help' || second === '-h') {
    context.terminal.out(asTyped(groupHelp(entry.name, commands), context.program))
    return second === undefined ? exitCodes.usage : exitCodes.ok
  }
  const names = commands.map((one) => one.name.slice(entry.name.length + 1))
  throw unknownCommand(second, names, `${entry.name} `)
}

/** Runs one command line and resolves with its exit code; never rejects. */
export async function runCli(
  entries: readonly CommandEntry[],
  words: readonly string[],
  context: CommandContext,
): Promise<number> {
  try {
    return await dispatch(entries, words, context)
  } catch (error) {
    if (context.signal.aborted) {
      context.terminal.err('interrupted\n')
      return exitCodes.interrupted
    }
    return reportError(error, context)
  }
}

/** Runs this process's own command line and ends the process with its exit code. A second Ctrl-C ends it at once. */
export async function runProcess(entries: readonly CommandEntry[]): Promise<void> {
  const stop = new AbortController()
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    stop.abort(new ClusterError('failed', 'interrupted'))
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  // An older Node that started this one holds the other end of the channel; its end ends this process too.
  process.on('disconnect', onSignal)
  const code = await runCli(entries, process.argv.slice(2), {
    terminal: processTerminal(environment),
    clock: systemClock,
    stateRoot: stateRoot(environment),
    environment,
    program: programName(process.argv[1] ?? '', environment),
    signal: stop.signal,
  })
  // Flush first: output to a pipe may not be written yet.
  process.exitCode = code
  await Promise.all([process.stdout, process.stderr].map((stream) => flushed(stream)))
  process.exit(code)
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write('', () => resolve()))
}
