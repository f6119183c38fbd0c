/** The process that envtest starts as kube-apiserver. It is started twice, first with --help, which is to be cheap. */
import { runComponent } from '../components/component-base/component.ts'
import { kubeApiServer } from './kube-apiserver-flags.ts'

void runComponent({
  ...kubeApiServer,
  run: async (context) => {
    const { runKubeApiServer } = await import('./kube-apiserver.ts')
    await runKubeApiServer(context)
  },
})
