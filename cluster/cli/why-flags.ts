/** The flags of `skiff why`. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { nameFlag } from './command.ts'

export const whyFlags = defineFlags({
  as: flag.string(
    'User to ask about; system:serviceaccount:NAMESPACE:NAME for a service account. With it, a request is explained.',
    '',
  ),
  'as-group': flag.list(
    'Groups of that user, in addition to system:authenticated. Repeatable.',
    [],
  ),
  'as-uid': flag.string('UID of that user.', ''),
  namespace: flag.string('Namespace of the object or request (-n).', 'default'),
  'all-namespaces': flag.bool('Ask about all namespaces (-A); not for a single object.', false),
  subresource: flag.string('Subresource of the request, such as log.', ''),
  filename: flag.list(
    'File with reviews to explain, or with objects to create; - for standard input (-f). Repeatable.',
    [],
  ),
  'token-file': flag.string('File with a bearer token to explain; - for standard input.', ''),
  audience: flag.list('Audiences of the token; by default those of the API server.', []),
  last: flag.bool('Explain the last N denied requests; N is 1 by default.', false),
  ...nameFlag,
  output: flag.string(
    'Output format; role prints only the role and binding that would allow a denied request.',
    'text',
    {
      choices: ['text', 'json', 'role'],
    },
  ),
})

export type WhyFlags = {
  readonly [K in keyof typeof whyFlags]: (typeof whyFlags)[K]['default']
}

export function usage(message: string): ClusterError {
  return new ClusterError('usage', message, { hint: 'see: skiff why --help' })
}
