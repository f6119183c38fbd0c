/** `skiff monitor`: holds a running cluster against monitors until it is interrupted. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { defineCommand, outputFlag, type CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { styled } from '../../cluster/cli/terminal.ts'
import { targetFlags, withTarget, type Target } from '../../cluster/cli/target.ts'
import { builtInMonitors } from '../built-in.ts'
import { celMonitorOf, chooseMonitors, type ChosenMonitor } from '../choose-monitors.ts'
import type { Violation } from '../monitor.ts'
import { runMonitors } from '../run-monitors.ts'
import { summaryText, violationLines } from '../violation-text.ts'
import { forFlag, forOrUntil } from './for-flag.ts'

const flags = defineFlags({
  cel: flag.list(
    'KIND=EXPRESSION: a monitor of your own, in CEL. It must hold for every state of the kind’s objects; object, oldObject and now are its variables. Repeatable.',
    [],
    { isWhole: true },
  ),
  ...forFlag,
  ...targetFlags,
  ...outputFlag,
})

async function watch(
  { client, title }: Target,
  { terminal, clock, signal }: CommandContext,
  given: {
    readonly chosen: readonly ChosenMonitor[]
    readonly isJson: boolean
    readonly forMs: number
  },
): Promise<number> {
  const { chosen, isJson } = given
  const monitors = await chooseMonitors(chosen, client)
  const print = (violation: Violation): void => {
    if (isJson) return terminal.out(`${JSON.stringify(violation)}\n`)
    const [first = '', ...more] = violationLines(violation)
    const time = new Date(violation.atMs).toISOString().slice(11, 19)
    const line = `${styled(time, 'dim', terminal.outColors)} ${styled(first, 'red', terminal.outColors)}`
    terminal.out(`${[line, ...more].join('\n')}\n`)
  }
  const run = await runMonitors({
    client,
    clock,
    monitors,
    onViolation: print,
    onNote: (text) => terminal.err(`note: ${text}\n`),
  })
  if (!isJson) {
    const names = monitors.map(({ name }) => name).join(', ')
    terminal.err(`monitoring ${title} (${names}); Ctrl-C ends it\n`)
  }
  await forOrUntil(given.forMs, { clock, signal })
  const summary = await run.stop()
  const hasViolations = summary.monitors.some(({ violations }) => violations > 0)
  terminal.out(isJson ? `${JSON.stringify({ summary })}\n` : `${summaryText(summary)}\n`)
  return hasViolations ? exitCodes.failed : exitCodes.ok
}

export const monitor = defineCommand({
  name: 'monitor',
  summary: 'Watch a cluster for violations of invariants',
  description:
    'Holds everything that happens in a running cluster against monitors: rules that must hold at every moment. Reports each\n' +
    'violation with the object, the revisions and who wrote them, and a summary at the end. Without names, all built-in ones:\n\n' +
    builtInMonitors.map(({ name, summary }) => `  ${name.padEnd(11)} ${summary}\n`).join('') +
    '\nWorks on any cluster with --kubeconfig or --context; what needs the request journal of a Skiff API server says so.\n' +
    'Ends with Ctrl-C or after --for. With -o json each violation is a line, and the summary the last one. Exits with 1 when\n' +
    'something was violated.',
  arguments: [{ name: 'MONITOR', isOptional: true, isRepeated: true }],
  flags,
  examples: [
    ['skiff monitor', 'Watch with all built-in monitors until Ctrl-C'],
    ['skiff monitor orphans hot-loop --for 1m', 'Two of them, for a minute, as in CI'],
    [
      "skiff monitor --cel 'deployments=object.spec.replicas <= 10'",
      'No deployment ever wants more than ten replicas',
    ],
    ['skiff monitor --context staging -o json', 'Another cluster, a line of JSON per violation'],
  ],
  handlesInterrupt: true,
  run: async (context, { flags: given, args }) => {
    const chosen = [...args, ...given.cel.map(celMonitorOf)]
    const isJson = given.output === 'json'
    return await withTarget(context, given, (target) =>
      watch(target, context, { chosen, isJson, forMs: given.for }),
    )
  },
})
