/**
 * `npm run differential`: random creates of every kind, sent to this API server and to a real kube-apiserver 1.32 that is built from its source
 * (Go and etcd are needed). Prints what the two answer differently, a few of each kind, and exits with 1 if anything is.
 * DIFFERENTIAL_SEEDS (0-20) says which seeds, DIFFERENTIAL_SHOWN (2) how many of a kind are shown, KUBE_APISERVER a program
 * that is there already.
 */
import { answerTo, openSession, type Answer } from './bench/load.ts'
import { createWorld } from './bench/world.ts'
import { comparable, difference } from './differential/compare.ts'
import { startKubeApiServer } from './differential/kube-apiserver.ts'
import { createsOf, type Create } from './differential/random-creates.ts'

const [first = 0, last = 20] = (process.env['DIFFERENTIAL_SEEDS'] ?? '0-20').split('-').map(Number)
const shown = Number(process.env['DIFFERENTIAL_SHOWN'] ?? '2')
const longest = 600

const world = await createWorld()
const seen = new Map<string, number>()
let sent = 0
let accepted = 0

function tell(seed: number, { kind, object }: Create, answers: readonly [Answer, Answer]): void {
  const count = (seen.get(kind) ?? 0) + 1
  seen.set(kind, count)
  if (count > shown) return
  const [ours, theirs] = difference(comparable(answers[0]), comparable(answers[1]))
  const statuses = answers.map(({ status }) => status).join(' here, ')
  const what = JSON.stringify(object).slice(0, longest)
  console.log(
    `${kind}, seed ${seed}, ${statuses} there: ${what}\n  ours:   ${ours}\n  theirs: ${theirs}\n`,
  )
}

try {
  const real = await startKubeApiServer(world.file('kube-apiserver'))
  const server = await world.startServer('differential.db')
  const [ours, theirs] = [openSession(server.endpoint), openSession(real.endpoint)]
  for (let seed = first; seed < last; seed += 1) {
    for (const create of createsOf(seed)) {
      const [here, there] = await Promise.all([
        answerTo(ours, create.request),
        answerTo(theirs, { ...create.request, token: real.endpoint.token }),
      ])
      sent += 1
      if (here.status === 201 && there.status === 201) accepted += 1
      if (comparable(here) !== comparable(there)) tell(seed, create, [here, there])
    }
  }
  ours.close()
  theirs.close()
  await server.stop()
  await real.stop()
} finally {
  await world.close()
}
const differing = [...seen.values()].reduce((sum, count) => sum + count, 0)
console.log(`${sent} creates, ${accepted} accepted by both, ${differing} answered differently`)
for (const [kind, count] of seen) console.log(`  ${kind}: ${count}`)
process.exitCode = differing > 0 ? 1 : 0
