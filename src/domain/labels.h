// The labels that travel with data: its origin, how it was admitted, what it may decide.
#pragma once

#include <boost/describe.hpp>

namespace domain {

enum class MessageKind {
    OperatorPrompt,
    ChannelEvent,
    WebhookEvent,
    CallbackEvent,
    TimerTick,
    SystemTick,
    TaskResult,
    TaskStatus,
    Control,
    BriefAck,
    BriefResult,
    InternalFollowup,
};
enum class AuthorityClass {
    OperatorInstruction,
    RuntimeInstruction,
    IntegrationSignal,
    ExternalEvidence
};
enum class TrustLevel { TrustedOperator, TrustedSystem, TrustedIntegration, UntrustedExternal };
enum class Priority { Interject, Next, Normal, Background };
enum class DeliverySurface {
    CliPrompt,
    RunOnce,
    HttpPublicEnqueue,
    HttpWebhook,
    HttpCallbackEnqueue,
    HttpCallbackWake,
    HttpControlPrompt,
    RemoteOperatorTransport,
    TimerScheduler,
    RuntimeSystem,
    TaskRejoin,
};
enum class AdmissionContext {
    PublicUnauthenticated,
    ControlAuthenticated,
    OperatorTransportAuthenticated,
    ExternalTriggerCapability,
    LocalProcess,
    RuntimeOwned,
};
enum class TriggerKind {
    OperatorInput,
    TaskResult,
    ExternalEvent,
    TimerFire,
    InternalFollowup,
    SystemTick,
    TaskStatus,
    Control,
    BriefDelivery,
};

BOOST_DESCRIBE_ENUM(MessageKind, OperatorPrompt, ChannelEvent, WebhookEvent, CallbackEvent,
                    TimerTick, SystemTick, TaskResult, TaskStatus, Control, BriefAck, BriefResult,
                    InternalFollowup)
BOOST_DESCRIBE_ENUM(AuthorityClass, OperatorInstruction, RuntimeInstruction, IntegrationSignal,
                    ExternalEvidence)
BOOST_DESCRIBE_ENUM(TrustLevel, TrustedOperator, TrustedSystem, TrustedIntegration,
                    UntrustedExternal)
BOOST_DESCRIBE_ENUM(Priority, Interject, Next, Normal, Background)
BOOST_DESCRIBE_ENUM(DeliverySurface, CliPrompt, RunOnce, HttpPublicEnqueue, HttpWebhook,
                    HttpCallbackEnqueue, HttpCallbackWake, HttpControlPrompt,
                    RemoteOperatorTransport, TimerScheduler, RuntimeSystem, TaskRejoin)
BOOST_DESCRIBE_ENUM(AdmissionContext, PublicUnauthenticated, ControlAuthenticated,
                    OperatorTransportAuthenticated, ExternalTriggerCapability, LocalProcess,
                    RuntimeOwned)
BOOST_DESCRIBE_ENUM(TriggerKind, OperatorInput, TaskResult, ExternalEvent, TimerFire,
                    InternalFollowup, SystemTick, TaskStatus, Control, BriefDelivery)

}  // namespace domain
