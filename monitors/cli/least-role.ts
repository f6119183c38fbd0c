/** `skiff least-role`: the least roles for what a user was seen to request. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { defineCommand, type CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { targetFlags, withTarget, type Target } from '../../cluster/cli/target.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { formatYaml } from '../../cluster/yaml.ts'
import { leastRole } from '../least-role/least-role.ts'
import { collectRequests } from '../requests/collect-requests.ts'
import { forFlag, forOrUntil } from './for-flag.ts'

const flags = defineFlags({
  user: flag.string(
    'The user, such as system:serviceaccount:shop:operator, as the API server names it.',
    '',
  ),
  role: flag.string('Name of the roles and bindings; by default made of the user’s.', ''),
  names: flag.bool(
    'Allow only the objects that were asked for by name, where they are few.',
    false,
  ),
  denied: flag.bool('Also allow requests that were denied.', false),
  kept: flag.bool('Follow nothing: judge what the API server has kept so far.', false),
  ...forFlag,
  ...targetFlags,
  output: flag.string('Output format.', 'yaml', { choices: ['yaml', 'json'] }),
})

const defaultName = (user: string): string =>
  user
    .replace(/^system:serviceaccount:/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '') || 'least'

const missingUser = (): ClusterError =>
  new ClusterError('usage', 'the user is missing: pass --user', {
    hint: 'see: skiff least-role --help',
  })

interface Given {
  readonly user: string
  readonly role: string
  readonly names: boolean
  readonly denied: boolean
  readonly kept: boolean
  readonly for: number
  readonly output: string
}

async function show(
  { client, title }: Target,
  { terminal, clock, signal }: CommandContext,
  given: Given,
): Promise<number> {
  const { user } = given
  const tell = (text: string): void => terminal.err(`${text}\n`)
  const until = given.kept ? Promise.resolve() : forOrUntil(given.for, { clock, signal })
  const onOpen = (): void => {
    const end = given.for === 0 ? 'Ctrl-C ends it' : `for ${given.for / 1000} s`
    if (!given.kept) tell(`following the requests of ${user} on ${title}; ${end}`)
  }
  const { records, notes } = await collectRequests(client, { user }, { until, onOpen })
  const found = leastRole(records, {
    user,
    dialect: client.dialect,
    name: given.role === '' ? defaultName(user) : given.role,
    restrictsNames: given.names,
    includesDenied: given.denied,
  })
  for (const note of notes) tell(`note: ${note}`)
  if (given.kept)
    tell('note: reads are recorded only while somebody follows: pass --for to see them')
  for (const one of found.denied)
    tell(`denied: ${one}${given.denied ? '' : ' (not in the role; see --denied)'}`)
  tell(`${found.requests} requests of ${user}`)
  if (found.objects.length === 0) tell('they need no role beyond the default ones')
  terminal.out(
    given.output === 'json'
      ? `${JSON.stringify(found, null, 2)}\n`
      : found.objects.map((object) => `---\n${formatYaml(object)}`).join(''),
  )
  return exitCodes.ok
}

export const leastRoleCommand = defineCommand({
  name: 'least-role',
  summary: 'Print the least roles that a user’s requests need',
  description:
    'Follows the requests of a user, such as the service account of a controller, and prints the least Role or ClusterRole, with\n' +
    'its binding, that allows them. A right that was used in one namespace alone goes into a Role there, all others into a\n' +
    'ClusterRole. What system:discovery and system:basic-user allow is left out. Reads are recorded only while somebody\n' +
    'follows: start it before the controller, and exercise all that the controller does, its leader election too.',
  flags,
  examples: [
    [
      'skiff least-role --user system:serviceaccount:shop:operator',
      'Follow until Ctrl-C, then print the roles',
    ],
    [
      'skiff least-role --user system:serviceaccount:shop:operator --for 1m --names',
      'For a minute, as in CI; objects that are asked for by name are named',
    ],
    ['skiff least-role --user jane --kept -o json', 'From what the API server has kept so far'],
  ],
  handlesInterrupt: true,
  run: async (context, { flags: given }) => {
    if (given.user === '') throw missingUser()
    return await withTarget(context, given, (target) => show(target, context, given))
  },
})
