/**
 * Makes a bootstrap token by hand and shows the Secret that makes it valid:
 * npx node scripts/bootstrap-token.ts [--ttl-hours 24] [--dialect kubernetes|svc] [--yes]
 */
import { createHmac } from 'node:crypto'
import { createBootstrapToken, formatToken, tokenSecret } from '../cluster/plan/bootstrap-token.ts'
import { formatYaml } from '../cluster/yaml.ts'
import { dialectNamed, dialects } from '../components/api/dialect.ts'
import { systemClock } from '../components/component-base/clock.ts'
import { option, show, step } from './teaching/lesson.ts'

const dialect = dialectNamed(option('dialect', 'kubernetes')) ?? dialects.kubernetes
const token = createBootstrapToken(systemClock)

await step(
  'The token',
  'Six letters that are its public name, a dot, and sixteen that are its secret. Anybody may know the name.',
)
show(formatToken(token))

await step(
  'Its Secret',
  `The API server accepts the token because this object is there. It says until when, and what for: to log in as
   system:bootstrap:${token.id}, and to sign the ConfigMap cluster-info.`,
)
const ttlMs = Number(option('ttl-hours', '24')) * 3_600_000
const secret = tokenSecret({
  token,
  dialect,
  nowMs: systemClock.now(),
  ttlMs,
  description: 'by hand',
})
show(formatYaml(secret))

await step(
  'Its signature',
  `The bootstrap signer puts such a line on cluster-info for each token: a JWS without its middle. Who knows the token can
   check that the CA in there was written by somebody who knows it too. Here for the text "hello".`,
)
const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: token.id })).toString('base64url')
const payload = Buffer.from('hello').toString('base64url')
const signature = createHmac('sha256', formatToken(token))
  .update(`${header}.${payload}`)
  .digest('base64url')
show(`jws-kubeconfig-${token.id}: ${header}..${signature}`)
