/** `skiff smells`: what in a controller's requests is often a mistake. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { RequestRecord } from '../../components/api/request-record.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { defineCommand, outputFlag, type CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { styled } from '../../cluster/cli/terminal.ts'
import { targetFlags, withTarget, type Target } from '../../cluster/cli/target.ts'
import { collectRequests } from '../requests/collect-requests.ts'
import { collectionSizes } from '../smells/collection-sizes.ts'
import { findSmells } from '../smells/find-smells.ts'
import type { Smell } from '../smells/smell.ts'
import { forFlag, forOrUntil } from './for-flag.ts'

const flags = defineFlags({
  user: flag.string('The user, such as system:serviceaccount:shop:operator.', ''),
  'user-agent': flag.string('What the user agent begins with; * stands for any text.', ''),
  ...forFlag,
  ...targetFlags,
  ...outputFlag,
})

function requestText({
  verb,
  path,
  name,
  subresource,
  status,
  atMs,
  userAgent,
}: RequestRecord): string {
  const time = new Date(atMs).toISOString().slice(11, 23)
  const what = subresource === '' ? '' : ` of ${subresource}`
  const made = verb === 'create' && name !== '' ? ` (${name})` : ''
  return `${time} ${verb}${what} ${path}${made}, status ${status}, by ${userAgent}`
}

function smellText({ name, text, mend, count, example }: Smell, colors: boolean): string {
  const times = count === 1 ? 'once' : `${count} times`
  return [
    `${styled(name, 'yellow', colors)}: ${text}, ${times}`,
    `  for example  ${requestText(example)}`,
    `  to mend it   ${mend}`,
    '',
  ].join('\n')
}

interface Given {
  readonly user: string
  readonly 'user-agent': string
  readonly for: number
  readonly output: string
}

async function show(
  { client, title }: Target,
  { terminal, clock, signal }: CommandContext,
  given: Given,
): Promise<number> {
  const of = {
    user: given.user === '' ? undefined : given.user,
    userAgent: given['user-agent'] === '' ? undefined : given['user-agent'],
  }
  const who = [of.user, of.userAgent].filter((one) => one !== undefined).join(', ')
  const end = given.for === 0 ? 'Ctrl-C ends it' : `for ${given.for / 1000} s`
  const { records, notes } = await collectRequests(client, of, {
    until: forOrUntil(given.for, { clock, signal }),
    onOpen: () => terminal.err(`following the requests of ${who} on ${title}; ${end}\n`),
  })
  const smells = findSmells(records, { sizeOf: await collectionSizes(client, records) })
  for (const note of notes) terminal.err(`note: ${note}\n`)
  if (given.output === 'json') {
    const found = { requests: records.length, smells, notes }
    terminal.out(`${JSON.stringify(found, null, 2)}\n`)
  } else {
    const seen = `${records.length} requests of ${who}`
    const some = `${smells.length} smell${smells.length === 1 ? '' : 's'} in ${seen}`
    for (const smell of smells) terminal.out(smellText(smell, terminal.outColors))
    terminal.out(`${smells.length === 0 ? `no smells in ${seen}` : some}\n`)
  }
  return smells.length === 0 ? exitCodes.ok : exitCodes.failed
}

export const smellsCommand = defineCommand({
  name: 'smells',
  summary: 'Find mistakes in how a controller uses the API',
  description:
    'Follows the requests of a controller under test, named by its user, its user agent or both, and prints what is often a\n' +
    'mistake, each with an example and how to mend it: writes that change nothing, ignored conflicts, lists of large\n' +
    'collections, polling, a status that is written with the spec, objects without an owner, watches that begin anew. Writes\n' +
    'that the API server has kept from before count, too. Exits with 1 when there are any.',
  flags,
  examples: [
    ['skiff smells --user system:serviceaccount:shop:operator', 'Follow until Ctrl-C, then judge'],
    ['skiff smells --user-agent my-operator/ --for 30s', 'By the user agent, for half a minute'],
    ['skiff smells --user jane -o json --for 1m', 'For scripts'],
  ],
  handlesInterrupt: true,
  run: async (context, { flags: given }) => {
    if (given.user === '' && given['user-agent'] === '') {
      throw new ClusterError('usage', 'the controller is missing: pass --user or --user-agent', {
        hint: 'see: skiff smells --help',
      })
    }
    return await withTarget(context, given, (target) => show(target, context, given))
  },
})
